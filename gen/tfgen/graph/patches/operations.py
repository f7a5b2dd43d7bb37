"""The operations of a JSON patch (RFC 6902) on an object with holes.

    {"spec": {"replicas": hole}}  and  add /spec/minReadySeconds 10
        ->  {"spec": {"replicas": hole, "minReadySeconds": 10}}

An operation goes where the object has the place whatever the values are. Each one sees what those before it left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from tfgen.graph.holes import ABSENT, Call, ForEach, Hole, Items, Key, Named, Node, When, child_nodes
from tfgen.graph.patches.field import Field, RefusedError, open_mapping, splices, without
from tfgen.words import either, shown

_END: Final = "-"
"""The place after a list's last item."""

_POD: Final = ("spec", "template")

_NEEDED: Final[Mapping[str, str]] = {
    "add": "value",
    "replace": "value",
    "test": "value",
    "move": "from",
    "copy": "from",
}
"""What an operation needs beside its path."""

_Change: TypeAlias = Callable[[Node, str | int, Field], Node]
"""What is done to the mapping or list around a place, given the place's key or index."""


def operate(node: Node, operation: Mapping[str, Any], field: Field) -> Node:
    """The object after one operation.

    Args:
        node: the object.
        operation: as the job schema has it.
        field: the object as a whole.

    Raises:
        RefusedError: it cannot be done, or must not be.
    """
    name, steps = operation["op"], _steps(operation["path"])
    needed = _NEEDED.get(name)
    if needed is not None and needed not in operation:
        raise RefusedError(f"the operation {name} needs {needed}")
    match name:
        case "add":
            return _edit(node, steps, field, _adder(operation["value"]))
        case "remove":
            return _edit(node, steps, field, _remove)
        case "replace":
            return _edit(node, steps, field, _replacer(operation["value"]))
        case "test":
            _test(node, steps, field, operation["value"])
            return node
        case "copy":
            return _edit(node, steps, field, _adder(_find(node, _steps(operation["from"]), field)))
    source = _steps(operation["from"])
    if steps[: len(source)] == source and steps != source:
        raise RefusedError(f"{operation['from']} cannot be moved into itself")
    moved = _find(node, source, field)
    return _edit(_edit(node, source, field, _take), steps, field, _adder(moved))


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _edit(node: Node, steps: list[str], field: Field, change: _Change) -> Node:
    """The node with a change around the place that the steps lead to."""
    step, *others = steps
    if field.path == _POD:
        raise RefusedError(f"{field.name}: write it as a merge, which is held against security.profile")
    if isinstance(node, (list, tuple)):
        return _edit_list([*node], step, others, field, change)
    mapping, inner = _mapping(node, step, field), field.inside(step)
    inner.check_owner()
    if not others:
        return change(mapping, step, inner)
    if step not in mapping:
        raise RefusedError(f"there is no {inner.name}; {_there(mapping)}")
    return {**mapping, step: _edit(_sure(mapping[step], inner), others, inner, change)}


def _edit_list(items: list[Node], step: str, others: list[str], field: Field, change: _Change) -> Node:
    if step == _END and not others:
        return change(items, len(items), field.inside(len(items)))
    index = _index(items, step, field, ends=not others)
    inner = field.inside(index)
    if not others:
        return change(items, index, inner)
    return [*items[:index], _edit(_sure(items[index], inner), others, inner, change), *items[index + 1 :]]


def _find(node: Node, steps: list[str], field: Field) -> Node:
    """What stands at a place."""
    for step in steps:
        if isinstance(node, (list, tuple)):
            index = _index([*node], step, field, ends=False)
            node, field = node[index], field.inside(index)
        else:
            mapping = _mapping(node, step, field)
            field = field.inside(step)
            if step not in mapping:
                raise RefusedError(f"there is no {field.name}; {_there(mapping)}")
            node = mapping[step]
        node = _sure(node, field)
    return node


def _test(node: Node, steps: list[str], field: Field, value: Any) -> None:
    there = _find(node, steps, field)
    for step in steps:
        field = field.inside(step)
    if _has_holes(there):
        raise RefusedError(
            f"{field.name} follows values of the job, so that a test would hold for some of them alone; remove it"
        )
    if not _is_same(there, value):
        raise RefusedError(f"the test of {field.name} fails: it is {shown(there)}, and not {shown(value)}")


def _adder(value: Node) -> _Change:
    def add(around: Node, step: str | int, field: Field) -> Node:
        if isinstance(around, list) and isinstance(step, int):
            return [*around[:step], value, *around[step:]]
        return _put(around, step, value, field)

    return add


def _replacer(value: Node) -> _Change:
    def replace(around: Node, step: str | int, field: Field) -> Node:
        if isinstance(around, list) and isinstance(step, int):
            if step == len(around):
                raise RefusedError(f"there is no {field.name}")
            _sure(around[step], field)
            field.check_replaceable(around[step])
            return [*around[:step], value, *around[step + 1 :]]
        if isinstance(around, dict) and step not in around:
            raise RefusedError(f"there is no {field.name} to replace; {_there(around)}")
        return _put(around, step, value, field)

    return replace


def _remove(around: Node, step: str | int, field: Field) -> Node:
    if isinstance(around, list) and isinstance(step, int) and step < len(around):
        field.check_replaceable(_sure(around[step], field))
    elif isinstance(around, dict):
        field.check_replaceable(around.get(step, ABSENT))
    return _take(around, step, field)


def _take(around: Node, step: str | int, field: Field) -> Node:
    if isinstance(around, list) and isinstance(step, int) and step < len(around):
        return [*around[:step], *around[step + 1 :]]
    if isinstance(around, dict) and isinstance(step, str) and step in around:
        return without(around, step)
    raise RefusedError(
        f"there is no {field.name} to take away" + (f"; {_there(around)}" if isinstance(around, dict) else "")
    )


def _put(around: Node, step: str | int, value: Node, field: Field) -> Node:
    if not isinstance(around, dict) or not isinstance(step, str):
        raise TypeError(f"no mapping: {around!r}")
    field.check_replaceable(around.get(step, ABSENT))
    return {**without(around, step, comment_alone=True), step: value}


def _mapping(node: Node, step: str, field: Field) -> dict[Key, Node]:
    """The mapping in which a step goes on."""
    mapping = open_mapping(node, step)
    if isinstance(mapping, Call):
        field.refuse_pod()
    if not isinstance(mapping, dict):
        field.refuse_values(mapping)
    if step not in mapping:
        for spliced in splices(mapping):
            field.refuse_values(spliced)
    return mapping


def _sure(node: Node, field: Field) -> Node:
    """What stands there whatever the values are."""
    if isinstance(node, (When, ForEach, Items)):
        raise RefusedError(f"{field.name} is there for some values of the job alone; write a merge instead")
    return node


def _index(items: list[Node], step: str, field: Field, *, ends: bool) -> int:
    """The index of an item before which no value of the job puts others."""
    if not re.fullmatch("0|[1-9][0-9]{0,9}", step):
        raise RefusedError(f"{field.name} is a list: found {step}, expected an index" + (f" or {_END}" if ends else ""))
    index = int(step)
    for item in items[: index + (not ends)]:
        if isinstance(item, (When, ForEach, Items)):
            raise RefusedError(
                f"which item of {field.name} has the index {index} follows values of the job; write a merge instead"
            )
    if index > len(items) - (not ends):
        last = f"its last has the index {len(items) - 1}" if items else "it is empty"
        raise RefusedError(f"{field.name} has no place {index}; {last}")
    return index


def _there(mapping: Mapping[Key, Node]) -> str:
    keys = [key for key in mapping if isinstance(key, str)]
    return f"there {'are' if len(keys) > 1 else 'is'} {either(keys, 'and')}" if keys else "it is empty"


def _has_holes(node: object) -> bool:
    if isinstance(node, Hole) and not isinstance(node, Named):
        return True
    return any(map(_has_holes, child_nodes(node)))  # type: ignore[arg-type]


def _is_same(there: Any, value: Any) -> bool:
    """Whether two parts are the same data, as JSON has it: true is not 1."""
    if isinstance(there, Named):
        there = there.node
    if isinstance(there, Mapping) and isinstance(value, Mapping):
        own = {key: inner for key, inner in there.items() if isinstance(key, str)}
        return own.keys() == value.keys() and all(_is_same(own[key], value[key]) for key in own)
    if isinstance(there, (list, tuple)) and isinstance(value, (list, tuple)):
        return len(there) == len(value) and all(map(_is_same, there, value))
    return type(there) is type(value) and bool(there == value)
