"""What a user adds to a role's pod in Kubernetes' own words, piece by piece, each with its path.

    beside(view, "worker")             -> the init containers and sidecars of the job, then those of the role
    items(part, "volumeMounts")        -> Part(("sidecars", 0, "volumeMounts", 0), {"name": "data", ...}), ...

What has another shape than Kubernetes gives it is left out: `wrong_shape` reports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tfgen.data_path import Path
from tfgen.graph.objects.names import CONTAINER
from tfgen.job.training_job import RoleName
from tfgen.rules.view import View


class Part(NamedTuple):
    """A mapping of the job, and its path."""

    path: Path
    data: Mapping[str, Any]


def beside(view: View, role: RoleName) -> Iterator[Part]:
    """The containers that a role's pods have beside the main one."""
    for part in _levels(view, role):
        yield from items(part, "initContainers")
        yield from items(part, "sidecars")


def templates(view: View, role: RoleName) -> Iterator[Part]:
    """The pod templates that are merged over the role's: the job's, then its own."""
    for part in _levels(view, role):
        yield from child(part, "podTemplate")


def specs(view: View, role: RoleName) -> Iterator[Part]:
    """The pod specs of those templates."""
    for template in templates(view, role):
        yield from child(template, "spec")


def of_patches(view: View) -> Iterator[Part]:
    """The pod specs that patches merge over TensorBoard's: those of all other pods refuse a patch."""
    for patch in view.patches:
        if patch.kind != "Deployment":
            continue
        part = Part(("patches", patch.name, "merge"), patch.merge)
        for spec in child(part, "spec"):
            for template in child(spec, "template"):
                yield from child(template, "spec")


def patched(view: View, role: RoleName, key: str) -> Iterator[Part]:
    """The items that those specs have in a list, such as `volumes`."""
    for spec in specs(view, role):
        yield from items(spec, key)


def main_container(view: View, role: RoleName) -> Iterator[Part]:
    """What those specs say of the main container."""
    return (part for part in patched(view, role, "containers") if name(part) == CONTAINER)


def child(part: Part, key: str) -> Iterator[Part]:
    """The mapping at a key, if there is one."""
    data = part.data.get(key)
    if isinstance(data, Mapping):
        yield Part((*part.path, key), data)


def items(part: Part, key: str) -> Iterator[Part]:
    """The mappings in the list at a key."""
    data = part.data.get(key)
    if isinstance(data, list):
        for index, item in enumerate(data):
            if isinstance(item, Mapping):
                yield Part((*part.path, key, index), item)


def name(part: Part) -> str:
    """The name of a list's item; empty where it has none that is text."""
    text = part.data.get("name")
    return text if isinstance(text, str) else ""


def removes(part: Part) -> bool:
    """Whether a list's item removes the one of its name, instead of adding to it."""
    return part.data.get("$patch") == "delete"


def _levels(view: View, role: RoleName) -> tuple[Part, Part]:
    return Part((), view.spec), Part(("roles", role), view.spec["roles"][role])
