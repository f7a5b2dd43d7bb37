"""A JSON patch: the operations, in their order, that make one object of another.

    >>> json_patch({"args": ["a"], "old": 1}, {"args": ["b"], "a/b": 2})
    [{'op': 'replace', 'path': '/args', 'value': ['b']}, {'op': 'add', 'path': '/a~1b', 'value': 2}, {'op': 'remove', \
'path': '/old'}]

It changes one item of a list and says nothing of the others, where a merge patch writes the list anew. But a path has
an item's index and not its name. So a test of the name stands before what changes in the item: on another list the
patch fails, and changes nothing.
https://www.rfc-editor.org/rfc/rfc6902
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

Operation: TypeAlias = dict[str, Any]
"""``op``, ``path`` and, but for ``remove``, ``value``."""


def json_patch(before: Any, after: Any) -> list[Operation]:
    """What makes `after` of `before`."""
    return list(_operations(before, after, ""))


def changes_items(before: Any, after: Any) -> bool:
    """Whether two objects differ in lists of which items stay, so that a merge patch would say again what they are."""
    if isinstance(before, dict) and isinstance(after, dict):
        return any(changes_items(before[key], after[key]) for key in before if key in after)
    return before != after and bool(_kept(before, after))


def patched(data: Any, operations: Sequence[Operation]) -> Any:
    """The data that a patch of `json_patch` makes of other data, which stays as it is.

    Raises:
        ValueError: a test fails, or the operation is none that `json_patch` writes.
        LookupError: nothing stands on the way to a path.
    """
    data = copy.deepcopy(data)
    for operation in operations:
        _apply(data, operation["op"], operation["path"].split("/")[1:], operation.get("value"))
    return data


def _operations(before: Any, after: Any, path: str) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*after, *(key for key in before if key not in after)]:
            inner = f"{path}/{_escaped(key)}"
            if key not in after:
                yield {"op": "remove", "path": inner}
            elif key not in before:
                yield {"op": "add", "path": inner, "value": after[key]}
            elif before[key] != after[key]:
                yield from _operations(before[key], after[key], inner)
    elif kept := _kept(before, after):
        yield from _item_operations(before, after, kept, path)
    else:
        yield {"op": "replace", "path": path, "value": after}


def _item_operations(
    before: Sequence[Any], after: Sequence[Any], kept: Sequence[str], path: str
) -> Iterator[Operation]:
    """First what goes, from the end on, so that no index changes before its turn; then what comes or changes."""
    for place, item in reversed([*enumerate(before)]):
        if item["name"] not in kept:
            yield _test(path, place, item)
            yield {"op": "remove", "path": f"{path}/{place}"}
    old = {item["name"]: item for item in before}
    for place, item in enumerate(after):
        if item["name"] not in kept:
            yield {"op": "add", "path": f"{path}/{place}", "value": item}
        elif old[item["name"]] != item:
            yield _test(path, place, item)
            yield from _operations(old[item["name"]], item, f"{path}/{place}")


def _test(path: str, place: int, item: Any) -> Operation:
    return {"op": "test", "path": f"{path}/{place}/name", "value": item["name"]}


def _kept(before: Any, after: Any) -> Sequence[str]:
    """The names of the items that two lists have; none where not each item has one, or where their order changes."""
    old, new = _names(before), _names(after)
    kept = [name for name in old if name in new]
    return kept if kept == [name for name in new if name in old] else ()


def _names(items: Any) -> Sequence[str]:
    """What the items of a list are called; nothing where that does not tell them apart."""
    if not isinstance(items, list | tuple):
        return ()
    names = [item.get("name") for item in items if isinstance(item, dict)]
    words = [name for name in names if isinstance(name, str)]
    return words if len(items) == len(words) == len({*words}) else ()


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _apply(data: Any, name: str, path: Sequence[str], value: Any) -> None:
    """Does what an operation says to the data itself."""
    *above, last = path
    for step in above:
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
