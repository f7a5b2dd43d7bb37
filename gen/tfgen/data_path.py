"""The types of plain data, and functions for nested mappings and lists at a path, such as `("roles", "ps")`.

    >>> at({"roles": {"ps": {"replicas": 2}}}, ("roles", "ps", "replicas"))
    2
    >>> with_value({"image": "tf:1"}, ("roles", "ps", "replicas"), 2)
    {'image': 'tf:1', 'roles': {'ps': {'replicas': 2}}}

`at` and `has` do not look into lists. No function changes its argument.

The module also has the placeholder of a value that the schema refuses, so that the checks of the remaining values can
continue:

    >>> data = mark({"spec": {"retries": "three", "image": "tf:1"}}, [("spec", "retries")])
    >>> data["spec"]["image"]
    'tf:1'
    >>> data["spec"]["retries"] > 2
    Traceback (most recent call last):
    tfgen.data_path.UnknownValueError

Each use of the placeholder raises an error: a comparison, `isinstance`, a conversion to text. So code that
needs the value cannot find a mistake that follows from the refused value, and code that does not need the value finds
all its mistakes. `UNKNOWN_ERRORS` lists the errors that a use can raise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any, Final, Literal, NoReturn, TypeAlias, TypeVar

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


# -- unknown values ----------------------------------------------------------------------------------------------------


_Item = TypeVar("_Item")


class UnknownValueError(Exception):
    """Error for the use of a value that the schema refuses. The caller of the check catches the error."""


UNKNOWN_ERRORS: Final = (UnknownValueError, TypeError, LookupError)
"""The errors that the use of an unknown value raises. Functions written in C, such as `str.join`, raise TypeError. A
mapping with a refused key may lack a required key."""


def until_unknown(items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield the items until the code that finds the items uses an unknown value."""
    with suppress(*UNKNOWN_ERRORS):
        yield from items


def _refuse(*_: object) -> NoReturn:
    raise UnknownValueError


class _Unknown:
    """The class of `UNKNOWN`."""

    __slots__ = ()

    __class__ = property(_refuse)  # `isinstance` reads the attribute
    __getattr__ = __getitem__ = __iter__ = __contains__ = __len__ = __bool__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse
    __str__ = __repr__ = __format__ = __int__ = __index__ = __float__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = __call__ = _refuse


UNKNOWN: Final[Any] = _Unknown()
"""A value that the schema refuses, or the value of a key that may be misspelt. Test for the value with `is`."""


def mark(data: Any, paths: Iterable[Path]) -> Any:
    """Return a copy of the data with an unknown value at each path.

    If a step of a path is missing, the value of the first missing step is unknown.
    """
    for path in sorted(paths, key=len):
        present = _present(data, path)
        if not is_unknown(data, present):
            data = with_value(data, present, UNKNOWN)
    return data


def _present(data: Any, path: Path) -> Path:
    """Return the beginning of a path up to the first step that does not exist, including this step."""
    for depth, step in enumerate(path):
        try:
            data = data[step]
        except UNKNOWN_ERRORS:
            is_missing_key = data is not UNKNOWN and isinstance(data, Mapping)
            return path[: depth + 1] if is_missing_key else path[:depth]
    return path


def is_unknown(data: Any, path: Path) -> bool:
    """Test whether the value at a path, or at the beginning of the path, is unknown."""
    for step in path:
        try:
            data = data[step]
        except (LookupError, TypeError):
            return False
        except UnknownValueError:
            return True
    return data is UNKNOWN


def known_part(data: Any) -> tuple[Any, tuple[Path, ...]]:
    """Return a copy of the data without unknown values, and the paths of the removed values.

    The function removes a list with an unknown item completely, because the indexes of the other items would change.
    """
    removed = tuple(dict.fromkeys(_unknown_paths(data)))
    for path in removed:
        data = without(data, path)
    return data, removed


def _unknown_paths(data: Any, path: Path = ()) -> Iterator[Path]:
    if data is UNKNOWN:
        yield next((path[:depth] for depth, step in enumerate(path) if isinstance(step, int)), path)
    elif isinstance(data, Mapping | list):
        for step, value in data.items() if isinstance(data, Mapping) else enumerate(data):
            yield from _unknown_paths(value, (*path, step))
