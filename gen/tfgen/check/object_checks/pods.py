"""The pods that an object makes: of any kind that has a pod template somewhere in it.

pods_of(stateful_set)  ->  Pods(labels={"tfgen/role": "worker", ...}, count=4, ...)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from tfgen import data_path
from tfgen.kubernetes import quantity
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

    @cached_property
    def containers(self) -> tuple[tuple[tuple[str | int, ...], Mapping[str, Any]], ...]:
        """All containers, those that run before and beside the main ones too, with their paths in the owner."""
        return tuple(
            ((*self.path, field, index), container)
            for field in ("initContainers", "containers")
            for index, container in enumerate(self.spec.get(field, ()))
        )

    @cached_property
    def ports(self) -> tuple[Mapping[str, Any], ...]:
        """The ports of all containers."""
        return tuple(port for _, container in self.containers for port in container.get("ports", ()))

    @cached_property
    def port_numbers(self) -> frozenset[int | None]:
        """Their numbers."""
        return frozenset(port.get("containerPort") for port in self.ports)

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


def literal_pods(item: Mapping[str, Any]) -> Iterator[Pods]:
    """The pods of an object that stands in the job as it is, as far as it has the shape that Kubernetes gives pods."""
    if literal_name(item) is None:
        return
    if item["kind"] == "Pod":
        if _has_shape(item, 1):
            yield _pods(item, (), item, 1)
    else:
        yield from _literal_templates(item, (), item)


def _literal_templates(owner: Mapping[str, Any], path: tuple[str | int, ...], value: Any) -> Iterator[Pods]:
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        count = value.get("replicas", value.get("parallelism", 1))
        if key == "template" and _has_shape(inner, count):
            yield _pods(owner, (*path, key), inner, count)
        else:
            yield from _literal_templates(owner, (*path, key), inner)


def _has_shape(template: Any, count: Any) -> bool:
    """Whether Kubernetes could take it for a pod, and for how many."""
    spec = data_path.at(template, ("spec",))
    if not isinstance(spec, Mapping) or "containers" not in spec or type(count) is not int:
        return False
    parts = [data_path.at(template, ("metadata", key)) for key in ("labels", "annotations")]
    lists = [spec.get(key) or () for key in ("containers", "initContainers", "volumes")]
    if not all(isinstance(part, Mapping | None) for part in parts) or not all(map(_is_list_of_maps, lists)):
        return False
    resources = [spec.get("resources"), *(container.get("resources") for of_list in lists[:2] for container in of_list)]
    amounts = [spec.get("overhead"), *(data_path.at(of_one, (key,)) for of_one in resources for key in _AMOUNTS)]
    return all(isinstance(of_one, Mapping | None) for of_one in resources) and all(map(_are_amounts, amounts))


_AMOUNTS = ("limits", "requests")


def _is_list_of_maps(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, Mapping) for item in value)


def _are_amounts(value: Any) -> bool:
    if value is None:
        return True
    return isinstance(value, Mapping) and all(quantity.is_quantity(amount) for amount in value.values())


def _templates(owner: Mapping[str, Any], path: tuple[str | int, ...], value: Any) -> Iterator[Pods]:
    if isinstance(value, list):
        for index, inner in enumerate(value):
            if isinstance(inner, (dict, list)):
                yield from _templates(owner, (*path, index), inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(inner, (dict, list)):
                continue
            here = (*path, key)
            if key == "template" and isinstance(inner, dict) and "containers" in inner.get("spec", {}):
                count: Any = value.get("replicas", value.get("parallelism", 1))
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
