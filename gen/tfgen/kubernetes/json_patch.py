"""JSON patches: ordered lists of operations that change one object into another object.

    >>> json_patch({"args": ["a"], "old": 1}, {"args": ["b"], "a/b": 2})
    [{'op': 'replace', 'path': '/args', 'value': ['b']}, {'op': 'add', 'path': '/a~1b', 'value': 2}, {'op': 'remove', \
'path': '/old'}]

A JSON patch can change a single item of a list, but a merge patch must contain the whole list. An operation refers to
an item by its index. So tfgen adds a `test` operation before each change. The `test` operation compares the name of the
item. If the items of the list have changed in the meantime, the patch fails and changes nothing.
https://www.rfc-editor.org/rfc/rfc6902
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

Operation: TypeAlias = dict[str, Any]
"""An operation of a JSON patch: ``op``, ``path`` and, except for ``remove``, ``value``."""


def json_patch(before: Any, after: Any) -> list[Operation]:
    """Return the operations that turn `before` into `after`."""
    return list(_operations(before, after, ""))


def changes_items(before: Any, after: Any) -> bool:
    """Return True if a list has changed, but some of its named items are in both versions of the list.

    A merge patch would have to repeat these items.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        return any(changes_items(before[key], after[key]) for key in before if key in after)
    return before != after and bool(_kept_names(before, after))


def patched(data: Any, operations: Sequence[Operation]) -> Any:
    """Apply the operations of `json_patch` to a copy of `data`, and return the copy.

    Raises:
        ValueError: a `test` operation fails, or an operation has a type that `json_patch` does not return.
        LookupError: the path does not exist in the data.
    """
    data = copy.deepcopy(data)
    for operation in operations:
        _apply(data, operation["op"], operation["path"].split("/")[1:], operation.get("value"))
    return data


def _operations(before: Any, after: Any, path: str) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*after, *(key for key in before if key not in after)]:
            child = f"{path}/{_escaped(key)}"
            if key not in after:
                yield {"op": "remove", "path": child}
            elif key not in before:
                yield {"op": "add", "path": child, "value": after[key]}
            elif before[key] != after[key]:
                yield from _operations(before[key], after[key], child)
    elif kept_names := _kept_names(before, after):
        yield from _item_operations(before, after, kept_names, path)
    else:
        yield {"op": "replace", "path": path, "value": after}


def _item_operations(
    before: Sequence[Any], after: Sequence[Any], kept_names: Sequence[str], path: str
) -> Iterator[Operation]:
    """Yield the operations that turn the list `before` into the list `after`.

    The first operations remove items, from the end of the list. The other operations add and change items, in the order
    of `after`.

    Args:
        before: the items of the old list.
        after: the items of the new list.
        kept_names: the names of the items that are in both lists.
        path: the JSON pointer of the list, such as `/spec/containers`.
    """
    for place, item in reversed([*enumerate(before)]):
        if item["name"] not in kept_names:
            yield _test(path, place, item)
            yield {"op": "remove", "path": f"{path}/{place}"}
    old = {item["name"]: item for item in before}
    for place, item in enumerate(after):
        if item["name"] not in kept_names:
            yield {"op": "add", "path": f"{path}/{place}", "value": item}
        elif old[item["name"]] != item:
            yield _test(path, place, item)
            yield from _operations(old[item["name"]], item, f"{path}/{place}")


def _test(path: str, place: int, item: Any) -> Operation:
    return {"op": "test", "path": f"{path}/{place}/name", "value": item["name"]}


def _kept_names(before: Any, after: Any) -> Sequence[str]:
    """Return the names that occur in both lists; empty if an item has no name, or if the order of the names differs."""
    old, new = _names(before), _names(after)
    names = [name for name in old if name in new]
    return names if names == [name for name in new if name in old] else ()


def _names(items: Any) -> Sequence[str]:
    """Return the names of the items of a list; empty if a name is missing or not unique."""
    if not isinstance(items, list | tuple):
        return ()
    names = [item.get("name") for item in items if isinstance(item, dict)]
    words = [name for name in names if isinstance(name, str)]
    return words if len(items) == len(words) == len({*words}) else ()


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _apply(data: Any, name: str, path: Sequence[str], value: Any) -> None:
    """Apply the operation `name`, such as `add`, to data in place."""
    *parents, last = path
    for step in parents:
        data = data[_step(data, step)]
    key = _step(data, last)
    match name:
        case "test" if data[key] == value:
            pass
        case "remove":
            del data[key]
        case "add" if isinstance(data, list):
            data.insert(key, copy.deepcopy(value))
        case "add" | "replace":
            data[key] = copy.deepcopy(value)
        case _:
            raise ValueError(f"{name} of {value!r} at /{'/'.join(path)}")


def _step(data: Any, step: str) -> Any:
    return int(step) if isinstance(data, list) else step.replace("~1", "/").replace("~0", "~")
