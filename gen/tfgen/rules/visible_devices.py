"""Containers that can use GPUs although they request no GPU.

The container runtime of NVIDIA exposes the GPUs that a variable names, and Kubernetes does not count these GPUs:
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.graph.objects.resources import DEVICES, IS_GPU
from tfgen.rules import pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.pod_parts import Part
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import either, shown

_VARIABLE: Final = "NVIDIA_VISIBLE_DEVICES"
_NO_GPU: Final = ("", "none", "void")


def _check(view: View) -> Iterator[Finding]:
    roles: dict[tuple[Path, Any], list[str]] = {}
    for role in view.roles:
        if (
            not view.values["roles"][role.name]["resources"]["gpu"]["count"]
            and not view.template_variables(role.name)[DEVICES.name]
        ):
            variable = (view.env_path(role.name, _VARIABLE), view.env(role.name).get(_VARIABLE))
            if isinstance(variable[1], str):
                roles.setdefault(variable, []).append(role.name)
            for container in pod_parts.main_container(view, role.name):
                yield from _check_container(container, f"role {role.name} requests")
        for container in pod_parts.extra_containers(view, role.name):
            if not _has_gpu(container):
                yield from _check_container(container, f"the container {pod_parts.name(container)} requests")
    for (path, value), names in roles.items():
        subject = f"role {names[0]} requests" if len(names) == 1 else f"the roles {either(names, 'and')} request"
        yield from _check_value(path, value, subject)


def _check_container(container: Part, subject: str) -> Iterator[Finding]:
    for item in pod_parts.items(container, "env"):
        if pod_parts.name(item) == _VARIABLE:
            yield from _check_value((*item.path, "value"), item.data.get("value"), subject)


def _check_value(path: Path, value: Any, subject: str) -> Iterator[Finding]:
    if isinstance(value, str) and value not in _NO_GPU:
        message = (
            f"{subject} no GPU, but {_VARIABLE}: {shown(value)} exposes GPUs that Kubernetes may assign to other "
            "pods; remove the variable, or request GPUs"
        )
        yield Finding(path, message)


def _has_gpu(container: Part) -> bool:
    limits = [
        part.data
        for resources in pod_parts.child(container, "resources")
        for part in pod_parts.child(resources, "limits")
    ]
    return any(re.search(IS_GPU, name) for amounts in limits for name in amounts)


RULES: Final = (Rule("visible-devices", "warning", "A container can use GPUs without a request for GPUs.", _check),)
