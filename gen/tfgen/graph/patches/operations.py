"""The operations of a JSON patch (RFC 6902) on an object with holes.

For example, `add /spec/minReadySeconds 10` changes {"spec": {"replicas": hole}} to
{"spec": {"replicas": hole, "minReadySeconds": 10}}. The path of an operation must exist for all values of the job. Each
operation changes the result of the previous operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from tfgen.graph.holes import ABSENT, Call, ForEach, Hole, Items, Key, NamedTemplate, Node, When, child_nodes
from tfgen.graph.patches.field import Field, RefusedError, open_mapping, splices, without_comments, without_entry
from tfgen.words import either, shown

_END: Final = "-"
"""The last step of a path that means the position after the last item of a list."""

_POD: Final = ("spec", "template")

_REQUIRED_KEYS: Final[Mapping[str, str]] = {
    "add": "value",
    "replace": "value",
    "test": "value",
    "move": "from",
    "copy": "from",
}
"""Name of an operation -> key that the operation requires in addition to `path`."""

_Change: TypeAlias = Callable[[Node, str | int, Field], Node]
"""A function that changes a mapping or list at a key or index. The `Field` is the field at the key or index."""


def operate(node: Node, operation: Mapping[str, Any], field: Field) -> Node:
    """Apply an operation of a JSON patch to an object.

    Args:
        node: the object.
        operation: the operation, in the format of the job schema.
        field: the `Field` of the whole object.

    Raises:
        RefusedError: the operation is impossible or not allowed.
    """
    name, steps = operation["op"], _steps(operation["path"])
    required = _REQUIRED_KEYS.get(name)
    if required is not None and required not in operation:
        raise RefusedError(f"the operation {name} needs the key {required}; add the key")
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
        raise RefusedError(f"the operation move cannot move {operation['from']} into itself; choose another path")
    moved = _find(node, source, field)
    return _edit(_edit(node, source, field, _take), steps, field, _adder(moved))


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _edit(node: Node, steps: list[str], field: Field, change: _Change) -> Node:
    """Return a copy of `node` in which the function `change` has edited the mapping or list around the last step.

    For the steps ["spec", "replicas"], the function edits the mapping `spec` at the key `replicas`.
    """
    step, *following = steps
    if field.path == _POD:
        raise RefusedError(
            f"a patch of {field.name} must use merge instead of json, because tfgen can validate only a merge against "
            "security.profile"
        )
    if isinstance(node, (list, tuple)):
        return _edit_list([*node], step, following, field, change)
    mapping, child_field = _mapping(node, step, field), field.child(step)
    child_field.check_changeable()
    if not following:
        return change(mapping, step, child_field)
    if step not in mapping:
        raise RefusedError(f"{child_field.name} does not exist; {_existing(mapping)}")
    return {**mapping, step: _edit(_unconditional(mapping[step], child_field), following, child_field, change)}


def _edit_list(items: list[Node], step: str, following: list[str], field: Field, change: _Change) -> Node:
    if step == _END and not following:
        return change(items, len(items), field.child(len(items)))
    index = _index(items, step, field, is_last=not following)
    item_field = field.child(index)
    if not following:
        return change(items, index, item_field)
    item = _edit(_unconditional(items[index], item_field), following, item_field, change)
    return [*items[:index], item, *items[index + 1 :]]


def _find(node: Node, steps: list[str], field: Field) -> Node:
    """Return the node at the path `steps` in a node."""
    for step in steps:
        if isinstance(node, (list, tuple)):
            index = _index([*node], step, field, is_last=False)
            node, field = node[index], field.child(index)
        else:
            mapping = _mapping(node, step, field)
            field = field.child(step)
            if step not in mapping:
                raise RefusedError(f"{field.name} does not exist; {_existing(mapping)}")
            node = mapping[step]
        node = _unconditional(node, field)
    return node


def _test(node: Node, steps: list[str], field: Field, value: Any) -> None:
    current = _find(node, steps, field)
    for step in steps:
        field = field.child(step)
    if _has_holes(current):
        raise RefusedError(
            f"{field.name} depends on values of the job, so the test would fail for some values; remove the test"
        )
    if not _is_equal(current, value):
        raise RefusedError(f"the test of {field.name} fails: found {shown(current)}, expected {shown(value)}")


def _adder(value: Node) -> _Change:
    def add(parent: Node, step: str | int, field: Field) -> Node:
        if isinstance(parent, list) and isinstance(step, int):
            return [*parent[:step], value, *parent[step:]]
        return _set_entry(parent, step, value, field)

    return add


def _replacer(value: Node) -> _Change:
    def replace(parent: Node, step: str | int, field: Field) -> Node:
        if isinstance(parent, list) and isinstance(step, int):
            if step == len(parent):
                raise RefusedError(f"{field.name}, which the patch replaces, does not exist")
            _unconditional(parent[step], field)
            field.check_replaceable(parent[step])
            return [*parent[:step], value, *parent[step + 1 :]]
        if isinstance(parent, dict) and step not in parent:
            raise RefusedError(f"{field.name}, which the patch replaces, does not exist; {_existing(parent)}")
        return _set_entry(parent, step, value, field)

    return replace


def _remove(parent: Node, step: str | int, field: Field) -> Node:
    if isinstance(parent, list) and isinstance(step, int) and step < len(parent):
        field.check_replaceable(_unconditional(parent[step], field))
    elif isinstance(parent, dict):
        field.check_replaceable(parent.get(step, ABSENT))
    return _take(parent, step, field)


def _take(parent: Node, step: str | int, field: Field) -> Node:
    if isinstance(parent, list) and isinstance(step, int) and step < len(parent):
        return [*parent[:step], *parent[step + 1 :]]
    if isinstance(parent, dict) and isinstance(step, str) and step in parent:
        return without_entry(parent, step)
    hint = f"; {_existing(parent)}" if isinstance(parent, dict) else ""
    raise RefusedError(f"{field.name}, which the patch removes, does not exist{hint}")


def _set_entry(parent: Node, step: str | int, value: Node, field: Field) -> Node:
    if not isinstance(parent, dict) or not isinstance(step, str):
        raise TypeError(f"not a mapping: {parent!r}")
    field.check_replaceable(parent.get(step, ABSENT))
    return {**without_comments(parent, step), step: value}


def _mapping(node: Node, step: str, field: Field) -> dict[Key, Node]:
    """Return `node` as a mapping, in which an operation can change or add the entry with the key `step`.

    Raises:
        RefusedError: the node is a pod template or not a mapping, or values of the job decide whether the node has the
            key.
    """
    mapping = open_mapping(node, step)
    if isinstance(mapping, Call):
        field.refuse_pod()
    if not isinstance(mapping, dict):
        field.refuse_values(mapping)
    if step not in mapping:
        for spliced in splices(mapping):
            field.refuse_values(spliced)
    return mapping


def _unconditional(node: Node, field: Field) -> Node:
    """Return `node` unchanged if the object contains this node for all values of the job.

    Raises:
        RefusedError: the node exists only for some values of the job.
    """
    if isinstance(node, (When, ForEach, Items)):
        raise RefusedError(f"{field.name} exists only for some values of the job; use merge instead of json")
    return node


def _index(items: list[Node], step: str, field: Field, *, is_last: bool) -> int:
    """Convert a step of a path to the index of an item in a list.

    Args:
        items: the list.
        step: the index as a text, such as "0".
        field: the field of the list.
        is_last: whether the step is the last step of the path. The last step may be the position after the last item.

    Raises:
        RefusedError: the step is not an index of the list, or values of the job decide which item has this index.
    """
    if not re.fullmatch("0|[1-9][0-9]{0,9}", step):
        end = f" or {_END}" if is_last else ""
        raise RefusedError(f"{field.name} is a list: found {step}, expected an index{end}")
    index = int(step)
    for item in items[: index + (not is_last)]:
        if isinstance(item, (When, ForEach, Items)):
            raise RefusedError(
                f"values of the job decide which item of {field.name} has the index {index}; use merge instead of json"
            )
    if index > len(items) - (not is_last):
        last = f"its last item has the index {len(items) - 1}" if items else "the list is empty"
        raise RefusedError(f"{field.name} has no item {index}; {last}")
    return index


def _existing(mapping: Mapping[Key, Node]) -> str:
    """Return the words of a message about the keys of a mapping: `the existing fields are serviceName and replicas`."""
    keys = [key for key in mapping if isinstance(key, str)]
    if not keys:
        return "the mapping is empty"
    return f"the existing {'fields are' if len(keys) > 1 else 'field is'} {either(keys, 'and')}"


def _has_holes(node: object) -> bool:
    if isinstance(node, Hole) and not isinstance(node, NamedTemplate):
        return True
    return any(map(_has_holes, child_nodes(node)))  # type: ignore[arg-type]


def _is_equal(node: Any, value: Any) -> bool:
    """Return whether a node equals a value in JSON, where true and 1 are different values."""
    if isinstance(node, NamedTemplate):
        node = node.node
    if isinstance(node, Mapping) and isinstance(value, Mapping):
        entries = {key: child for key, child in node.items() if isinstance(key, str)}
        return entries.keys() == value.keys() and all(_is_equal(entries[key], value[key]) for key in entries)
    if isinstance(node, (list, tuple)) and isinstance(value, (list, tuple)):
        return len(node) == len(value) and all(map(_is_equal, node, value))
    return type(node) is type(value) and bool(node == value)
