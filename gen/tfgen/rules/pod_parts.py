"""Containers, volumes and other parts of a pod that a user writes in the syntax of Kubernetes, each with its path.

For example, the first item of `volumeMounts` in the first sidecar has the path ("sidecars", 0, "volumeMounts", 0). The
functions skip a value of a wrong type, because the rule `wrong_shape` reports the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tfgen.data_path import Path
from tfgen.graph.naming import CONTAINER
from tfgen.job.training_job import RoleName
from tfgen.rules.view import View


class PodPart(NamedTuple):
    """A mapping in the job, such as a container, and the path of the mapping."""

    path: Path
    data: Mapping[str, Any]


def extra_containers(view: View, role: RoleName) -> Iterator[PodPart]:
    """Yield the init containers and the sidecars of a role's pods: first of the job, then of the role."""
    for part in (PodPart((), view.spec), PodPart(("roles", role), view.spec["roles"][role])):
        yield from items(part, "initContainers")
        yield from items(part, "sidecars")


def templates(view: View, role: RoleName) -> Iterator[PodPart]:
    """Yield the pod templates that tfgen merges into a role's pods: first podTemplate of the job, then of the role."""
    yield from child(PodPart((), view.spec), "podTemplate")
    yield from child(PodPart(("roles", role), view.spec["roles"][role]), "podTemplate")


def template_specs(view: View, role: RoleName) -> Iterator[PodPart]:
    """Yield the pod specs of the pod templates of a role."""
    for template in templates(view, role):
        yield from child(template, "spec")


def patch_specs(view: View) -> Iterator[PodPart]:
    """Yield the pod specs in patches of Deployments. The only pod that can be patched is the pod of TensorBoard."""
    for patch in view.patches:
        if patch.kind != "Deployment":
            continue
        part = PodPart(("patches", patch.name, "merge"), patch.merge)
        for spec in child(part, "spec"):
            for template in child(spec, "template"):
                yield from child(template, "spec")


def template_items(view: View, role: RoleName, key: str) -> Iterator[PodPart]:
    """Yield the items of a list, such as `volumes`, in all pod templates that tfgen merges into a role's pods.

    `key` is the name of the list in a pod spec.
    """
    for spec in template_specs(view, role):
        yield from items(spec, key)


def main_container(view: View, role: RoleName) -> Iterator[PodPart]:
    """Yield each container with the name of the main container in the pod templates of a role."""
    return (part for part in template_items(view, role, "containers") if name(part) == CONTAINER)


def main_env(view: View, role: RoleName) -> Iterator[PodPart]:
    """Yield each environment variable that the pod templates of a role add to the main container."""
    return (item for part in main_container(view, role) for item in items(part, "env"))


def all_containers(view: View, role: RoleName) -> Iterator[PodPart]:
    """Yield the init containers and sidecars of a role's pods, and each container in the pod templates of the role."""
    yield from extra_containers(view, role)
    yield from template_items(view, role, "containers")
    yield from template_items(view, role, "initContainers")


def child(part: PodPart, key: str) -> Iterator[PodPart]:
    """Yield the value at `key` in `part`, if the value is a mapping. Yield nothing for a different value."""
    data = part.data.get(key)
    if isinstance(data, Mapping):
        yield PodPart((*part.path, key), data)


def items(part: PodPart, key: str) -> Iterator[PodPart]:
    """Yield each mapping in the list at `key` in `part`. Yield nothing if the value is not a list."""
    data = part.data.get(key)
    if isinstance(data, list):
        for index, item in enumerate(data):
            if isinstance(item, Mapping):
                yield PodPart((*part.path, key, index), item)


def name(part: PodPart) -> str:
    """Return the name of a container, volume or other list item; empty if the name is missing or is not text."""
    text = part.data.get("name")
    return text if isinstance(text, str) else ""


def is_delete_directive(part: PodPart) -> bool:
    """Return True if a list item has the directive `$patch: delete`, which removes the pod's item of the same name."""
    return part.data.get("$patch") == "delete"
