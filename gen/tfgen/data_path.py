"""The types of plain data, and functions for nested mappings and lists at a path, such as `("roles", "ps")`.

    >>> at({"roles": {"ps": {"replicas": 2}}}, ("roles", "ps", "replicas"))
    2
    >>> with_value({"image": "tf:1"}, ("roles", "ps", "replicas"), 2)
    {'image': 'tf:1', 'roles': {'ps': {'replicas': 2}}}

`at` and `has` do not look into lists. No function changes its argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, Literal, TypeAlias

ValueType: TypeAlias = Literal["string", "integer", "boolean", "quantity", "map", "list"]
"""Type of a tunable value. A quantity is an amount in the notation of Kubernetes: 2, 500m, 4Gi."""

TREES: Final = ("map", "list")
"""The types whose values are mappings or lists."""

MAX_INTEGER: Final = 2**53 - 1
"""Largest integer value. Helm and kustomize convert numbers to float64, which is exact only up to this integer."""

Path: TypeAlias = tuple[str | int, ...]
"""Keys and list indexes, from the root of a document to a value: `("spec", "roles", "worker", "args", 0)`."""


def at(data: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path; None if the path does not exist."""
    for step in path:
        if not isinstance(data, Mapping) or step not in data:
            return None
        data = data[step]
    return data


def has(data: Any, path: Sequence[str | int]) -> bool:
    """Return True if a path exists, even if its value is null."""
    for step in path:
        if not isinstance(data, Mapping) or step not in data:
            return False
        data = data[step]
    return True


def follow(data: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path. The path may contain list indexes.

    Raises:
        LookupError: the path has no value.
    """
    for step in path:
        data = data[step]
    return data


def with_value(data: Any, path: Sequence[str | int], value: Any) -> Any:
    """Return a copy of the data with a new value at a path. Missing mappings on the path are created.

    Raises:
        LookupError: an index in the path is greater than the length of the list, or the indexed value is not a list.
    """
    if not path:
        return value
    key, *remaining_steps = path
    if isinstance(key, int):
        items = _items(data, key)
        item = items[key] if key < len(items) else None
        return [*items[:key], with_value(item, remaining_steps, value), *items[key + 1 :]]
    mapping = data if isinstance(data, Mapping) else {}
    return {**mapping, key: with_value(mapping.get(key), remaining_steps, value)}


def without(data: Any, path: Sequence[str | int]) -> Any:
    """Return a copy of the data without the value at a path. If the path has no value, return the unchanged data.

    Raises:
        LookupError: an index in the path is greater than the length of the list, or the indexed value is not a list.
    """
    if not path:
        return data
    key, *remaining_steps = path
    if isinstance(key, int):
        items = _items(data, key)
        changed = [without(item, remaining_steps) for item in items[key : key + 1] if remaining_steps]
        return [*items[:key], *changed, *items[key + 1 :]]
    if not isinstance(data, Mapping) or key not in data:
        return data
    if remaining_steps:
        return {**data, key: without(data[key], remaining_steps)}
    return {name: value for name, value in data.items() if name != key}


def texts(data: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield (path, text) for each string value in the data, without the keys of mappings.

    `path` is the path of the data in the document. Each result begins with this path.
    """
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, Mapping | list):
        for key, value in data.items() if isinstance(data, Mapping) else enumerate(data):
            yield from texts(value, (*path, key))


def leaves(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield (path, value) for each scalar, list and empty mapping in the data.

    `path` is the path of the data in the document. Each result begins with this path.
    """
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
    """Return the longest prefix that all paths share."""
    return tuple(steps[0] for steps in takewhile(lambda steps: len(set(steps)) == 1, zip(*paths, strict=False)))
