"""Secrets in the text of a job, which would be committed to git.

A message never contains the value of the secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tfgen.data_path import Path, texts
from tfgen.rules import pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.secret_text import find_secret_arguments, has_secret, looks_secret, names_secret
from tfgen.words import path_name

_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Pattern of the boundary between words in a camel case name, such as akSecret, an option of a storage driver."""

_SECRET_DATA: Final = ("data", "stringData")

_REFERENCE: Final = {"flexVolume": "secretRef", "csi": "nodePublishSecretRef"}


def _check(view: View) -> Iterator[Finding]:
    for path, name, value in _variables(view):
        if not isinstance(value, str):
            continue
        looks = "value" if has_secret(value) else "name" if names_secret(name, value) else None
        if looks:
            message = (
                f"the {looks} of the variable {name} looks like a secret, and git would store the secret; create a "
                "Secret, and write secretKeyRef: {name: ..., key: ...}"
            )
            yield Finding(path, message)
    for path, name, value in _options(view):
        if looks_secret(_HUMP.sub("-", name), value):
            message = (
                f"{path_name(path)} looks like a secret, and git would store the secret; create a Secret, and write "
                f"its name in {_REFERENCE[str(path[2])]} of the volume"
            )
            yield Finding(path, message)
    for path, arguments in _arguments(view):
        for index in find_secret_arguments(arguments):
            message = (
                "this argument looks like a secret, and git would store the secret; pass a variable with secretKeyRef"
            )
            yield Finding((*path, index), message)
    for path, message in _literals(view):
        yield Finding(path, message)


def _literals(view: View) -> Iterator[tuple[Path, str]]:
    """Yield a path and a message for each Secret in `objects`, and for each secret in a text of another object."""
    for name, item in view.values["objects"].items():
        path: Path = ("objects", name)
        if item["kind"] == "Secret" and any(item.get(field) for field in _SECRET_DATA):
            field = next(field for field in _SECRET_DATA if item.get(field))
            message = (
                f"{path_name((*path, field))}: git would store the values of the Secret; create the Secret in the "
                "cluster, or write an ExternalSecret or a SealedSecret"
            )
            yield (*path, field), message
        else:
            for text_path, text in texts(item, path):
                if has_secret(text):
                    message = (
                        f"{path_name(text_path)} looks like a secret, and git would store the secret; create a Secret "
                        "in the cluster"
                    )
                    yield text_path, message


def _variables(view: View) -> Iterator[tuple[Path, str, Any]]:
    yield from ((("env", name), name, value) for name, value in view.values["env"].items())
    for role in view.roles:
        role_env = view.values["roles"][role.name].get("env", {})
        yield from ((("roles", role.name, "env", name), name, value) for name, value in role_env.items())
        for parts in (
            pod_parts.extra_containers(view, role.name),
            pod_parts.template_items(view, role.name, "containers"),
            pod_parts.template_items(view, role.name, "initContainers"),
        ):
            for container in parts:
                for item in pod_parts.items(container, "env"):
                    yield (*item.path, "value"), pod_parts.name(item), item.data.get("value")


def _options(view: View) -> Iterator[tuple[Path, str, str]]:
    """Yield the path, the name and the value of each option that a volume passes to a storage driver."""
    for volume, source_fields in view.values["storage"].items():
        for source, field in (("flexVolume", "options"), ("csi", "volumeAttributes")):
            for name, value in source_fields.get(source, {}).get(field, {}).items():
                yield ("storage", volume, source, field, name), name, value


def _arguments(view: View) -> Iterator[tuple[Path, Sequence[Any]]]:
    """Yield the path and the words of each command, and of each list of arguments, in the containers of all roles."""
    for role in view.roles:
        for field in ("command", "args"):
            yield view.effective_field(role.name, field)
        for parts in (
            pod_parts.extra_containers(view, role.name),
            pod_parts.template_items(view, role.name, "containers"),
            pod_parts.template_items(view, role.name, "initContainers"),
        ):
            for container in parts:
                for field in ("command", "args"):
                    if isinstance(container.data.get(field), list):
                        yield (*container.path, field), container.data[field]


RULES: Final = (Rule("plaintext-secret", "warning", "A value of the job looks like a secret.", _check),)
