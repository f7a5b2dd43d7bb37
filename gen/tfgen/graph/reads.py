"""The values paths that a node reads. Other values of a job do not affect the filled node.

>>> from tfgen.graph.holes import Sum, Value
>>> reads(Sum((Value("roles.worker.replicas", "integer"), 1)))
(('roles', 'worker', 'replicas'),)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from tfgen.graph.holes import (
    Bound,
    Call,
    Guard,
    Let,
    NamedTemplate,
    Node,
    Parameter,
    Value,
    cached_on_record,
    child_nodes,
)
from tfgen.record import Record

Steps: TypeAlias = tuple[str, ...]
"""A values path as a tuple of keys."""

_Read: TypeAlias = tuple[str, Steps]
"""The name of a parameter or of a `Bound`, and the path of a field in its value. The name of a chart value is empty."""

_Name = TypeVar("_Name", Bound, Parameter)


def reads(node: Node | Guard) -> tuple[Steps, ...]:
    """Return the sorted values paths that a node reads. The path of a map includes all values in the map."""
    paths = {path for name, path in _reads(node) if not name}
    return tuple(sorted(path for path in paths if not any(path[:end] in paths for end in range(len(path)))))


def reads_of_call(call: Call) -> tuple[Steps, ...]:
    """Return the values paths that the named template of a call reads, directly or through an argument.

    For example, if the named template reads a parameter with the argument `Value("image")`, the result contains
    ("image",). A computed argument, such as a `Text`, adds no path.
    """
    targets = {parameter_key(name): _direct_read(argument) for name, argument in call.arguments}
    return tuple(sorted({path for name, path in _resolve(_reads(call.template), targets) if not name}))


def used_names(node: Node, names: Iterable[_Name]) -> list[_Name]:
    """Return the members of `names` that a node reads. Each member is a `Bound` or a `Parameter`."""
    keys = {name for name, _ in _reads(node)}
    return [name for name in names if (bound_key if isinstance(name, Bound) else parameter_key)(name.name) in keys]


@cached_on_record
def _reads(node: Node | Record) -> frozenset[_Read]:
    """Return the name and the path of each value that a node reads. The name is empty for a value of the chart.

    Example: ("", ("roles", "ps")) for a value of the chart, and ("parameter values", ("image",)) for a field of a
    parameter. If the node defines a name by a `Let`, the result contains the values that the expression of the name
    reads, but not the name.
    """
    read = _direct_read(node)
    if read is not None:
        return frozenset((read,))
    match node:
        case NamedTemplate(node=content):
            return _reads(content)
        case Call(template, arguments):
            targets = {parameter_key(name): _direct_read(argument) for name, argument in arguments}
            computed = (argument for _, argument in arguments if _direct_read(argument) is None)
            return frozenset((*_resolve(_reads(template), targets), *_all_reads(computed)))
        case Let(name, expression, body):
            targets = {bound_key(name): _direct_read(expression)}
            body_reads = _reads(body)
            unrelated = (read for read in body_reads if read[0] not in targets)
            expression_reads = _all_reads([expression]) if _direct_read(expression) is None else ()
            return frozenset((*_resolve(body_reads, targets), *unrelated, *expression_reads))
    return frozenset(_all_reads(child_nodes(node)))


def _all_reads(nodes: Iterable[Node | Record]) -> Iterator[_Read]:
    return (read for node in nodes if node is not None and not isinstance(node, (str, int)) for read in _reads(node))


def _resolve(template_reads: Iterable[_Read], targets: Mapping[str, _Read | None]) -> Iterator[_Read]:
    """Replace the names in `template_reads` by the values to which the names refer.

    For example, if `targets` contains {"parameter values": ("", ("roles", "ps"))}, the function replaces
    ("parameter values", ("image",)) by ("", ("roles", "ps", "image")). The result omits a name without a target.
    """
    for name, path in template_reads:
        if not name:
            yield name, path
        elif (target := targets.get(name)) is not None:
            yield target[0], (*target[1], *path)


def _direct_read(node: Node | Record) -> _Read | None:
    """Return the name and the path that a `Value`, `Parameter` or `Bound` reads; None for any other node."""
    match node:
        case Value(path):
            return "", steps_of(path)
        case Parameter(name, _, path):
            return parameter_key(name), steps_of(path)
        case Bound(name, _, path):
            return bound_key(name), steps_of(path)
    return None


def parameter_key(name: str) -> str:
    """Return the lookup key of a parameter, such as "parameter role".

    The lookup key of a `Bound` with the same name is different.
    """
    return f"parameter {name}"


def bound_key(name: str) -> str:
    """Return the lookup key of the name in a `Bound`, such as "bound role"."""
    return f"bound {name}"


def steps_of(path: str) -> Steps:
    """Split a path such as `roles.worker.replicas` at its dots."""
    return tuple(step for step in path.split(".") if step)
