"""Containers that see GPUs which they do not ask for.

NVIDIA's runtime gives a container the GPUs that a variable names, and Kubernetes counts none of these:
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
        if not view.values["roles"][role.name]["resources"]["gpu"]["count"] and not view.bound(role.name)[DEVICES.name]:
            variable = (view.env_path(role.name, _VARIABLE), view.env(role.name).get(_VARIABLE))
            if isinstance(variable[1], str):
                roles.setdefault(variable, []).append(role.name)
            for container in pod_parts.main_container(view, role.name):
                yield from _of_container(container, f"role {role.name} has")
        for container in pod_parts.beside(view, role.name):
            if not _has_gpu(container):
                yield from _of_container(container, f"the container {pod_parts.name(container)} has")
    for (path, value), names in roles.items():
        who = f"role {names[0]} has" if len(names) == 1 else f"the roles {either(names, 'and')} have"
        yield from _of_value(path, value, who)


def _of_container(container: Part, who: str) -> Iterator[Finding]:
    for item in pod_parts.items(container, "env"):
        if pod_parts.name(item) == _VARIABLE:
            yield from _of_value((*item.path, "value"), item.data.get("value"), who)


def _of_value(path: Path, value: Any, who: str) -> Iterator[Finding]:
    if isinstance(value, str) and value not in _NO_GPU:
        message = (
            f"{who} no GPU, and {_VARIABLE}: {shown(value)} shows GPUs of the node that other pods have; "
            "remove the variable, or ask for GPUs"
        )
        yield Finding(path, message)


def _has_gpu(container: Part) -> bool:
    limits = [
        part.data
        for resources in pod_parts.child(container, "resources")
        for part in pod_parts.child(resources, "limits")
    ]
    return any(re.search(IS_GPU, name) for amounts in limits for name in amounts)


RULES: Final = (Rule("visible-devices", "warning", "A container sees GPUs that it does not ask for.", _check),)
