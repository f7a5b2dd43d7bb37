"""Paths into plain data: what stands at one, data with another value there, and where several paths begin alike.

    >>> at({"roles": {"ps": {"replicas": 2}}}, ("roles", "ps", "replicas"))
    2
    >>> with_value({"image": "tf:1"}, ("roles", "ps", "replicas"), 2)
    {'image': 'tf:1', 'roles': {'ps': {'replicas': 2}}}

A list is one value, but for `follow`: nothing is looked for in it. No function changes the data that it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    """The data with a value at the path; a mapping takes the place of what is none on the way there."""
    if not path:
        return value
    key, *rest = path
    mapping = data if isinstance(data, Mapping) else {}
    return {**mapping, key: with_value(mapping.get(key), rest, value)}


def without(data: Any, path: Sequence[str | int]) -> Any:
    """The data without what stands there; as it is, where nothing does."""
    if not path or not has(data, path):
        return data
    key, *rest = path
    if rest:
        return {**data, key: without(data[key], rest)}
    return {name: value for name, value in data.items() if name != key}


def shared(paths: Iterable[Path]) -> Path:
    """The path that all of them begin with."""
    return tuple(steps[0] for steps in takewhile(lambda steps: len(set(steps)) == 1, zip(*paths, strict=False)))
