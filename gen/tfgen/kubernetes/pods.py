"""Pods of an object: a Pod, or the pods of each pod template in the object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.kubernetes import quantity
from tfgen.kubernetes.object import group, literal_name
from tfgen.record import Record

FieldPath: TypeAlias = tuple[str | int, ...]
"""The path of a field in an object: the keys of mappings and the indexes of lists."""

_KUBERNETES_GROUPS: Final = ("apps", "batch", "")

_COUNTS: Final = ("replicas", "maxReplicas", "maxReplicaCount", "parallelism", "instances")
"""Fields of Kubernetes kinds and of custom kinds that set the number of the pods, or of the objects, in the field."""


class Pods(Record):
    """A group of equal pods, which one pod template describes.

    Attributes:
        owner: the object that creates the pods.
        path: the path of the PodSpec in the object.
        count: the number of pods.
    """

    owner: Mapping[str, Any]
    path: FieldPath
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    count: int

    @cached_property
    def containers(self) -> tuple[tuple[FieldPath, Mapping[str, Any]], ...]:
        """Each container, with its path in the owner. The result includes init containers and sidecars."""
        return tuple(
            ((*self.path, field, index), container)
            for field in ("initContainers", "containers")
            for index, container in enumerate(self.spec.get(field, ()))
        )

    @cached_property
    def ports(self) -> tuple[Mapping[str, Any], ...]:
        """The ports of all containers."""
        return tuple(port for _, container in self.containers for port in container.get("ports", ()))

    @property
    def has_all_labels(self) -> bool:
        """True if `labels` contains all labels of the pods that a selector of the job may use.

        The result is False for a custom kind such as TFJob, because the operator may add labels.
        """
        return group(self.owner) in _KUBERNETES_GROUPS


def pods_of(item: Mapping[str, Any]) -> Iterator[Pods]:
    """Yield the pods of an object that tfgen generates. For an entry of `objects`, yield nothing."""
    if literal_name(item) is not None:
        return
    if item["kind"] == "Pod":
        yield _pods(item, (), item, 1)
    else:
        yield from _templates(item, (), item)


def literal_pods(item: Mapping[str, Any]) -> Iterator[Pods]:
    """Yield the pods of an entry of `objects`. Pods whose fields have wrong types are left out."""
    if literal_name(item) is None:
        return
    if item["kind"] == "Pod":
        if _has_shape(item):
            yield _pods(item, (), item, 1)
    else:
        yield from _literal_templates(item, (), item)


def _literal_templates(owner: Mapping[str, Any], path: FieldPath, value: Any, count: int = 1) -> Iterator[Pods]:
    """Yield the pods of each pod template in `value`. The product of all numbers on the path is the number of pods."""
    if isinstance(value, Mapping):
        counts = [value[key] for key in _COUNTS if type(value.get(key)) is int]
        count *= max(counts, default=1)
        if path and _has_shape(value):
            yield _pods(owner, path, value, count)
            return
    for key, child in value.items() if isinstance(value, Mapping) else enumerate(value):
        if isinstance(child, Mapping | list | tuple):
            yield from _literal_templates(owner, (*path, key), child, count)


def _has_shape(template: Any) -> bool:
    """Return True if a pod template has the types that Kubernetes requires."""
    spec = data_path.at(template, ("spec",))
    if not isinstance(spec, Mapping) or "containers" not in spec:
        return False
    parts = [data_path.at(template, ("metadata", key)) for key in ("labels", "annotations")]
    lists = [spec.get(key) or () for key in ("containers", "initContainers", "volumes")]
    if not all(isinstance(part, Mapping | None) for part in parts) or not all(map(_is_list_of_maps, lists)):
        return False
    containers = [container for containers in lists[:2] for container in containers]
    resources = [spec.get("resources"), *(container.get("resources") for container in containers)]
    amounts = [spec.get("overhead"), *(data_path.at(block, (key,)) for block in resources for key in _AMOUNTS)]
    return all(isinstance(block, Mapping | None) for block in resources) and all(map(_are_amounts, amounts))


_AMOUNTS: Final = ("limits", "requests")


def _is_list_of_maps(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, Mapping) for item in value)


def _are_amounts(value: Any) -> bool:
    if value is None:
        return True
    return isinstance(value, Mapping) and all(quantity.is_quantity(amount) for amount in value.values())


def _templates(owner: Mapping[str, Any], path: FieldPath, value: Any) -> Iterator[Pods]:
    if isinstance(value, list):
        for index, child in enumerate(value):
            if isinstance(child, (dict, list)):
                yield from _templates(owner, (*path, index), child)
    elif isinstance(value, dict):
        for key, child in value.items():
            if not isinstance(child, (dict, list)):
                continue
            child_path = (*path, key)
            if key == "template" and isinstance(child, dict) and "containers" in child.get("spec", {}):
                count: Any = value.get("replicas", value.get("parallelism", 1))
                yield _pods(owner, child_path, child, count)
            else:
                yield from _templates(owner, child_path, child)


def _pods(owner: Mapping[str, Any], path: FieldPath, template: Mapping[str, Any], count: int) -> Pods:
    metadata = template.get("metadata") or {}
    return Pods(
        owner=owner,
        path=(*path, "spec"),
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        spec=template["spec"],
        count=count,
    )
