"""Paths into plain data: what stands at one, whether anything does, and where several begin alike.

    >>> at({"roles": {"ps": {"replicas": 2}}}, ("roles", "ps", "replicas"))
    2

A list is one value: nothing is looked for in it.
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


def shared(paths: Iterable[Path]) -> Path:
    """The path that all of them begin with."""
    return tuple(steps[0] for steps in takewhile(lambda steps: len(set(steps)) == 1, zip(*paths, strict=False)))
