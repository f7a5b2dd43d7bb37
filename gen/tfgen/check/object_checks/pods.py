"""The pods that an object makes: of any kind that has a pod template somewhere in it.

pods_of(stateful_set)  ->  Pods(labels={"tfgen/role": "worker", ...}, count=4, ...)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tfgen.kubernetes.object import group, literal_name
from tfgen.record import Record

_OWN_GROUPS = ("apps", "batch", "")


class Pods(Record):
    """Equal pods.

    Attributes:
        owner: the object that makes them.
        path: of their PodSpec in it.
        count: how many.
    """

    owner: Mapping[str, Any]
    path: tuple[str | int, ...]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    count: int

    @property
    def containers(self) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
        """All containers, those that run before and beside the main ones too, with their paths in the owner."""
        for field in ("initContainers", "containers"):
            for index, container in enumerate(self.spec.get(field, ())):
                yield (*self.path, field, index), container

    @property
    def ports(self) -> list[Mapping[str, Any]]:
        """The ports of all containers."""
        return [port for _, container in self.containers for port in container.get("ports", ())]

    @property
    def is_complete(self) -> bool:
        """Whether the template has all labels of its pods: an operator of a custom kind may add its own."""
        return group(self.owner) in _OWN_GROUPS


def pods_of(item: Mapping[str, Any]) -> Iterator[Pods]:
    """The pods that an object makes; of one that stands in the job as it is, which may have any shape, none."""
    if literal_name(item) is not None:
        return
    if item["kind"] == "Pod":
        yield _pods(item, (), item, 1)
    else:
        yield from _templates(item, (), item)


def _templates(owner: Mapping[str, Any], path: tuple[str | int, ...], value: Any) -> Iterator[Pods]:
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _templates(owner, (*path, index), inner)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            here = (*path, key)
            if key == "template" and isinstance(inner, Mapping) and "containers" in inner.get("spec", {}):
                count = value.get("replicas", value.get("parallelism", 1))
                yield _pods(owner, here, inner, count)
            else:
                yield from _templates(owner, here, inner)


def _pods(owner: Mapping[str, Any], path: tuple[str | int, ...], template: Mapping[str, Any], count: int) -> Pods:
    metadata = template.get("metadata") or {}
    return Pods(
        owner=owner,
        path=(*path, "spec"),
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        spec=template["spec"],
        count=count,
    )
