"""Compares the values of two variants of a job, and shortens paths inside a value to the path of the value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tfgen.data_path import Path
from tfgen.schema import tunables


def differences(before: Any, after: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each value that differs between two variants, and of each record that contains such a value.

    Two values differ if the values are not the same Python object.
    """
    if before is after:
        return
    yield path
    if type(before) is dict and type(after) is dict and path not in tunables.all_leaves():
        for key in {**before, **after}:
            yield from differences(before.get(key), after.get(key), (*path, key))


def whole_values(paths: Iterable[Path]) -> frozenset[Path]:
    """Shorten each path to the path of the chart value that contains the path.

    For example, `env.A.name` becomes `env`.
    """
    leaves = tunables.all_leaves()
    ends = ((path, next((end for end in range(len(path)) if path[:end] in leaves), len(path))) for path in paths)
    return frozenset(path[:end] for path, end in ends)
