"""Paths into plain data: the value at a path, data with another value there, and all texts with their paths.

    >>> at({"roles": {"ps": {"replicas": 2}}}, ("roles", "ps", "replicas"))
    2
    >>> with_value({"image": "tf:1"}, ("roles", "ps", "replicas"), 2)
    {'image': 'tf:1', 'roles': {'ps': {'replicas': 2}}}

To `at` and `has` a list is one value: nothing is looked for in it. No function changes the data that it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indexes from a document's root: `("spec", "roles", "worker", "args", 0)`."""


def at(data: Any, path: Sequence[str | int]) -> Any:
    """What stands there; None where nothing does."""
    for step in path:
        if not isinstance(data, Mapping) or step not in data:
            return None
        data = data[step]
    return data


def has(data: Any, path: Sequence[str | int]) -> bool:
    """Whether anything stands there, be it null."""
    for step in path:
        if not isinstance(data, Mapping) or step not in data:
            return False
        data = data[step]
    return True


def follow(data: Any, path: Sequence[str | int]) -> Any:
    """What stands there, in lists too.

    Raises:
        LookupError: nothing does.
    """
    for step in path:
        data = data[step]
    return data


def with_value(data: Any, path: Sequence[str | int], value: Any) -> Any:
    """The data with a value at the path; a mapping takes the place of what is none on the way there.

    Raises:
        LookupError: an index is past the end of its list by more than one, or what is there is no list.
    """
    if not path:
        return value
    key, *rest = path
    if isinstance(key, int):
        items = _items(data, key)
        inner = items[key] if key < len(items) else None
        return [*items[:key], with_value(inner, rest, value), *items[key + 1 :]]
    mapping = data if isinstance(data, Mapping) else {}
    return {**mapping, key: with_value(mapping.get(key), rest, value)}


def without(data: Any, path: Sequence[str | int]) -> Any:
    """The data without what stands there; as it is, where nothing does.

    Raises:
        LookupError: an index is past the end of its list by more than one, or what is there is no list.
    """
    if not path:
        return data
    key, *rest = path
    if isinstance(key, int):
        items = _items(data, key)
        inner = [without(item, rest) for item in items[key : key + 1] if rest]
        return [*items[:key], *inner, *items[key + 1 :]]
    if not isinstance(data, Mapping) or key not in data:
        return data
    if rest:
        return {**data, key: without(data[key], rest)}
    return {name: value for name, value in data.items() if name != key}


def texts(data: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield each text in the data, with the text's path. Keys are no texts."""
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, Mapping | list):
        for key, value in data.items() if isinstance(data, Mapping) else enumerate(data):
            yield from texts(value, (*path, key))


def leaves(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield each value that is no mapping, and each empty mapping, with the value's path."""
    if isinstance(data, Mapping) and data:
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    else:
        yield path, data


def _items(data: Any, index: int) -> list[Any]:
    items = [] if data is None else data
    if not isinstance(items, list) or index > len(items):
        raise LookupError(index)
    return items


def shared(paths: Iterable[Path]) -> Path:
    """The path that all of them begin with."""
    return tuple(steps[0] for steps in takewhile(lambda steps: len(set(steps)) == 1, zip(*paths, strict=False)))
