"""What is wrong with one of a job's objects, or between two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple, TypeAlias

from tfgen.check.object_checks.pods import Pods, pods_of
from tfgen.kubernetes.object import Object
from tfgen.record import Record

FieldPath: TypeAlias = tuple[str | int, ...]


class Fault(NamedTuple):
    """A mistake in an object: where, and what is wrong."""

    item: Object
    path: FieldPath
    message: str


class Objects(Record):
    """The objects of one environment, and what they may refer to beside each other.

    Attributes:
        items: those that tfgen makes.
        texts: every text of the job: what it names itself is its user's own, and need not be among the objects.
        min_available: the size that the job asks for of its gang; 0 where it leaves that to tfgen.
        literals: those that stand in the job as they are, of any shape.
    """

    items: tuple[Object, ...]
    texts: frozenset[str] = frozenset()
    min_available: int = 0
    literals: tuple[Object, ...] = ()

    @cached_property
    def pods(self) -> tuple[Pods, ...]:
        """The pods that they make."""
        return tuple(pods for item in self.items for pods in pods_of(item))

    @cached_property
    def pods_by_owner(self) -> Mapping[str, Pods]:
        """The first pods that an object of a name makes."""
        return {pods.owner["metadata"]["name"]: pods for pods in reversed(self.pods)}

    def of_kind(self, kind: str) -> tuple[Object, ...]:
        """The objects of a kind, of whichever API group."""
        return tuple(item for item in self.items if item["kind"] == kind)

    def named(self, kind: str, name: str) -> Object | None:
        """The object of a kind and a name."""
        known = (*self.of_kind(kind), *(item for item in self.literals if item["kind"] == kind))
        return next((item for item in known if item["metadata"]["name"] == name), None)


Check: TypeAlias = Callable[[Objects], Iterable[Fault]]
