"""Which values a node is filled from: what else a job says, and what another environment says of it, changes nothing.

reads(Sum((value("roles.worker.replicas"), 1)))  ->  (("roles", "worker", "replicas"),)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from tfgen.graph.holes import Bound, Call, Let, Node, Parameter, Value, inner_nodes
from tfgen.record import EMPTY, Record

Steps: TypeAlias = tuple[str, ...]
"""A values path."""

_Paths: TypeAlias = Mapping[str, Steps | None]
"""The paths that names stand for; None for a name of what is computed, which is read where that stands."""


def reads(node: Node) -> tuple[Steps, ...]:
    """The values paths that a node reads, in order; all that is below such a path counts as read."""
    paths = set(_reads(node, EMPTY, EMPTY))
    return tuple(sorted(path for path in paths if not any(path[:end] in paths for end in range(len(path)))))


def reads_of_call(call: Call) -> tuple[Steps, ...]:
    """The same of a part that is called, and of those arguments that are no more than a place of the values."""
    parameters = {name: _place(argument, EMPTY, EMPTY) for name, argument in call.arguments}
    paths = set(_reads(call.part.node, parameters, EMPTY))
    return tuple(sorted(paths))


def _reads(node: Node | Record, parameters: _Paths, bound: _Paths) -> Iterator[Steps]:
    place = _place(node, parameters, bound)
    if place is not None:
        yield place
        return
    match node:
        case Call(part, arguments):
            places = {name: _place(argument, parameters, bound) for name, argument in arguments}
            for name, argument in arguments:
                if places[name] is None:
                    yield from _reads(argument, parameters, bound)
            yield from _reads(part.node, places, EMPTY)
        case Let(name, expression, body):
            place = _place(expression, parameters, bound)
            if place is None:
                yield from _reads(expression, parameters, bound)
            yield from _reads(body, parameters, {**bound, name: place})
        case _:
            for inner in inner_nodes(node):
                yield from _reads(inner, parameters, bound)


def _place(node: Node | Record, parameters: _Paths, bound: _Paths) -> Steps | None:
    """Where in the values a node stands for, where it is no more than that."""
    match node:
        case Value(path):
            return _steps(path)
        case Parameter(name, _, path):
            above = parameters.get(name)
        case Bound(name, _, path):
            above = bound.get(name)
        case _:
            return None
    return None if above is None else (*above, *_steps(path))


def _steps(path: str) -> Steps:
    return tuple(step for step in path.split(".") if step)
