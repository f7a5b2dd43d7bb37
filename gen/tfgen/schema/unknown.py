"""The placeholder of a value that the schema refuses, so that the checks of the remaining values can continue.

    >>> data = mark({"spec": {"retries": "three", "image": "tf:1"}}, [("spec", "retries")])
    >>> data["spec"]["image"]
    'tf:1'
    >>> data["spec"]["retries"] > 2
    Traceback (most recent call last):
    tfgen.schema.unknown.UnknownValueError

Each use of the placeholder raises an error: a comparison, `isinstance`, a conversion to text. So code that
needs the value cannot find a mistake that follows from the refused value, and code that does not need the value finds
all its mistakes. `UNKNOWN_ERRORS` lists the errors that a use can raise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NoReturn, TypeVar

from tfgen import data_path
from tfgen.data_path import Path

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
            data = data_path.with_value(data, present, UNKNOWN)
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
        data = data_path.without(data, path)
    return data, removed


def _unknown_paths(data: Any, path: Path = ()) -> Iterator[Path]:
    if data is UNKNOWN:
        yield next((path[:depth] for depth, step in enumerate(path) if isinstance(step, int)), path)
    elif isinstance(data, Mapping | list):
        for step, value in data.items() if isinstance(data, Mapping) else enumerate(data):
            yield from _unknown_paths(value, (*path, step))
