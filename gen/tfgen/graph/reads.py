"""The values paths that a node reads. No other value of a job changes the filled node.

reads(Sum((value("roles.worker.replicas"), 1)))  ->  (("roles", "worker", "replicas"),)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from tfgen.graph.holes import Bound, Call, Guard, Let, Named, Node, Parameter, Value, cached_on_record, child_nodes
from tfgen.record import Record

Steps: TypeAlias = tuple[str, ...]
"""A values path."""

_Read: TypeAlias = tuple[str, Steps]
"""The key of a parameter or of a bound name, and a path in the value of the name. An empty key means the values."""

_Name = TypeVar("_Name", Bound, Parameter)


def reads(node: Node | Guard) -> tuple[Steps, ...]:
    """Return the values paths that a node reads, in order. The node reads each path as a whole."""
    paths = {path for name, path in _reads(node) if not name}
    return tuple(sorted(path for path in paths if not any(path[:end] in paths for end in range(len(path)))))


def reads_of_call(call: Call) -> tuple[Steps, ...]:
    """Return the values paths that the part of a call reads, directly or through arguments that are values.

    The result does not contain the paths that computed arguments read.
    """
    targets = {parameter_key(name): _direct_read(argument) for name, argument in call.arguments}
    return tuple(sorted({path for name, path in _resolve(_reads(call.part), targets) if not name}))


def used_names(node: Node, names: Iterable[_Name]) -> list[_Name]:
    """Return the bound names or parameters that a node reads, from a list of candidates."""
    keys = {name for name, _ in _reads(node)}
    return [name for name in names if (bound_key if isinstance(name, Bound) else parameter_key)(name.name) in keys]


@cached_on_record
def _reads(node: Node | Record) -> frozenset[_Read]:
    """Return the reads of a node. The reads of a bound expression belong to the binding, not to a use of the name."""
    read = _direct_read(node)
    if read is not None:
        return frozenset((read,))
    match node:
        case Named(node=content):
            return _reads(content)
        case Call(part, arguments):
            targets = {parameter_key(name): _direct_read(argument) for name, argument in arguments}
            computed = (argument for _, argument in arguments if _direct_read(argument) is None)
            return frozenset((*_resolve(_reads(part), targets), *_all_reads(computed)))
        case Let(name, expression, body):
            targets = {bound_key(name): _direct_read(expression)}
            body_reads = _reads(body)
            unrelated = (read for read in body_reads if read[0] not in targets)
            expression_reads = _all_reads([expression]) if _direct_read(expression) is None else ()
            return frozenset((*_resolve(body_reads, targets), *unrelated, *expression_reads))
    return frozenset(_all_reads(child_nodes(node)))


def _all_reads(nodes: Iterable[Node | Record]) -> Iterator[_Read]:
    return (read for node in nodes if node is not None and not isinstance(node, (str, int)) for read in _reads(node))


def _resolve(part_reads: Iterable[_Read], targets: Mapping[str, _Read | None]) -> Iterator[_Read]:
    """Yield the reads of a part as reads outside the part. The names of computed expressions are omitted.

    Args:
        part_reads: the reads inside the part.
        targets: the read outside the part that each name of the part refers to; None for a computed expression.
    """
    for name, path in part_reads:
        if not name:
            yield name, path
        elif (target := targets.get(name)) is not None:
            yield target[0], (*target[1], *path)


def _direct_read(node: Node | Record) -> _Read | None:
    """Return the read of a node that is only a value, a parameter or a bound name; None for other nodes."""
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
