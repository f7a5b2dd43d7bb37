"""Paths of values: of those that are read, and of those that two forms of a job do not share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tfgen.data_path import Path
from tfgen.schema import tunables


def differences(one: Any, other: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of the values that are not the same object, and of the records that they are in."""
    if one is other:
        return
    yield path
    if type(one) is dict and type(other) is dict and path not in tunables.all_leaves():
        for key in {**one, **other}:
            yield from differences(one.get(key), other.get(key), (*path, key))


def whole_values(paths: Iterable[Path]) -> frozenset[Path]:
    """Values paths, each cut where it leads into a value."""
    leaves = tunables.all_leaves()
    ends = ((path, next((end for end in range(len(path)) if path[:end] in leaves), len(path))) for path in paths)
    return frozenset(path[:end] for path, end in ends)
