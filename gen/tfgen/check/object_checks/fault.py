"""Faults of the objects of a job, and the objects in which the checks search for faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple, TypeAlias

from tfgen.check.object_checks.pods import Pods, pods_of
from tfgen.kubernetes.object import Object
from tfgen.record import Record

FieldPath: TypeAlias = tuple[str | int, ...]


class Fault(NamedTuple):
    """A mistake in an object: the object, the path of the field, and the message."""

    item: Object
    path: FieldPath
    message: str


class Objects(Record):
    """The objects of one environment, and the names to which the objects may refer.

    Attributes:
        items: the objects that tfgen creates.
        texts: all texts in the job. If an object refers to a Secret that the job does not create, for example, the name
            of the Secret must be one of these texts.
        min_available: the minimum size of the gang that the job sets; 0 for the default.
        literals: the entries of `objects`, which may have any shape.
    """

    items: tuple[Object, ...]
    texts: frozenset[str] = frozenset()
    min_available: int = 0
    literals: tuple[Object, ...] = ()

    @cached_property
    def pods(self) -> tuple[Pods, ...]:
        """The groups of equal pods that the objects create."""
        return tuple(pods for item in self.items for pods in pods_of(item))

    @cached_property
    def pods_by_owner(self) -> Mapping[str, Pods]:
        """The first group of pods of each object that creates pods, by the name of the object."""
        return {pods.owner["metadata"]["name"]: pods for pods in reversed(self.pods)}

    def of_kind(self, kind: str) -> tuple[Object, ...]:
        """Return the objects of the kind `kind`, of any API group."""
        return tuple(item for item in self.items if item["kind"] == kind)

    def named(self, kind: str, name: str) -> Object | None:
        """Return the object with the kind `kind` and the name `name`, or None without such an object."""
        candidates = (*self.of_kind(kind), *(item for item in self.literals if item["kind"] == kind))
        return next((item for item in candidates if item["metadata"]["name"] == name), None)


Check: TypeAlias = Callable[[Objects], Iterable[Fault]]
