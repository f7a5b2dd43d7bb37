"""Which values a node is filled from: what else a job says, and what another environment says of it, changes nothing.

reads(Sum((value("roles.worker.replicas"), 1)))  ->  (("roles", "worker", "replicas"),)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from tfgen.graph.holes import Bound, Call, Guard, Let, Named, Node, Parameter, Value, cached_on_record, child_nodes
from tfgen.record import Record

Steps: TypeAlias = tuple[str, ...]
"""A values path."""

_Place: TypeAlias = tuple[str, Steps]
"""A path from what a name stands for: a parameter's, or a bound one's; from the values, where the name is empty."""

_Name = TypeVar("_Name", Bound, Parameter)


def reads(node: Node | Guard) -> tuple[Steps, ...]:
    """The values paths that a node reads, in order; all that is below such a path counts as read."""
    paths = {path for name, path in _reads(node) if not name}
    return tuple(sorted(path for path in paths if not any(path[:end] in paths for end in range(len(path)))))


def reads_of_call(call: Call) -> tuple[Steps, ...]:
    """The same of a part that is called, and of those arguments that are no more than a place of the values."""
    places = {parameter_key(name): _place(argument) for name, argument in call.arguments}
    return tuple(sorted({path for name, path in _resolved(_reads(call.part), places) if not name}))


def used_names(node: Node, names: Iterable[_Name]) -> list[_Name]:
    """Those of some names that a node reads: names that are bound around it, or parameters."""
    asked = {name for name, _ in _reads(node)}
    return [name for name in names if (bound_key if isinstance(name, Bound) else parameter_key)(name.name) in asked]


@cached_on_record
def _reads(node: Node | Record) -> frozenset[_Place]:
    """All places that a node reads. What is computed is read where the name that stands for it gets its value."""
    place = _place(node)
    if place is not None:
        return frozenset((place,))
    match node:
        case Named(node=inner):
            return _reads(inner)
        case Call(part, arguments):
            places = {parameter_key(name): _place(argument) for name, argument in arguments}
            computed = (argument for _, argument in arguments if _place(argument) is None)
            return frozenset((*_resolved(_reads(part), places), *_all_reads(computed)))
        case Let(name, expression, body):
            bound = {bound_key(name): _place(expression)}
            inside = _reads(body)
            others = (inner for inner in inside if inner[0] not in bound)
            computed = (inner for inner in (expression,) if _place(inner) is None)
            return frozenset((*_resolved(inside, bound), *others, *_all_reads(computed)))
    return frozenset(_all_reads(child_nodes(node)))


def _all_reads(nodes: Iterable[Node | Record]) -> Iterator[_Place]:
    return (place for node in nodes if node is not None and not isinstance(node, (str, int)) for place in _reads(node))


def _resolved(inside: Iterable[_Place], places: Mapping[str, _Place | None]) -> Iterator[_Place]:
    """Of the places within a part, those of the values and of what stands for a place outside it."""
    for name, path in inside:
        if not name:
            yield name, path
        elif (outside := places.get(name)) is not None:
            yield outside[0], (*outside[1], *path)


def _place(node: Node | Record) -> _Place | None:
    """What a node stands for, where it is no more than a place."""
    match node:
        case Value(path):
            return "", steps_of(path)
        case Parameter(name, _, path):
            return parameter_key(name), steps_of(path)
        case Bound(name, _, path):
            return bound_key(name), steps_of(path)
    return None


def parameter_key(name: str) -> str:
    """Return the key of a parameter, which differs from the key of a bound name."""
    return f"parameter {name}"


def bound_key(name: str) -> str:
    """Return the key of a bound name."""
    return f"bound {name}"


def steps_of(path: str) -> Steps:
    """Return the steps of a path with dots."""
    return tuple(step for step in path.split(".") if step)
