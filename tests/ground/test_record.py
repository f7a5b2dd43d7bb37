"""Tests that records behave like the frozen dataclasses of the standard library."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tfgen.record import Record


class Point(Record):
    x: int
    y: int = 1


class Point3(Point):
    z: int = 2


@dataclasses.dataclass(frozen=True)
class Reference:
    x: int
    y: int = 1


@dataclasses.dataclass(frozen=True)
class Reference3(Reference):
    z: int = 2


PAIRS = [(Point, Reference), (Point3, Reference3)]
CALLS = [
    ((), {}),
    ((3,), {}),
    ((3, 4), {}),
    ((3, 4, 5), {}),
    ((3, 4, 5, 6), {}),
    ((), {"x": 3}),
    ((), {"y": 3}),
    ((3,), {"y": 4}),
    ((3,), {"x": 4}),
    ((3, 4), {"z": 5}),
    ((3, 4, 5), {"z": 6}),
    ((3,), {"w": 4}),
]


def made(cls: Any, args: Any, named: Any) -> object:
    """Return the fields of the record that the call creates, or the type of the error."""
    try:
        record = cls(*args, **named)
    except TypeError as error:
        return type(error)
    return {name: getattr(record, name) for name in cls.__match_args__}


@pytest.mark.parametrize(("record", "reference"), PAIRS)
@pytest.mark.parametrize(("args", "named"), CALLS)
def test_calls(record: Any, reference: Any, args: Any, named: Any) -> None:
    assert made(record, args, named) == made(reference, args, named)


@pytest.mark.parametrize(("record", "reference"), PAIRS)
def test_repr_and_pattern(record: Any, reference: Any) -> None:
    assert repr(record(7)) == repr(reference(7)).replace(reference.__name__, record.__name__)
    assert record.__match_args__ == reference.__match_args__


def test_equality_and_hash() -> None:
    assert Point(3) == Point(3, 1)
    assert hash(Point(3)) == hash(Point(3, 1))
    assert Point(3) != Point(3, 2)
    assert Point3(3) != Point(3)
    assert Point(3) != (3, 1)


def test_frozen() -> None:
    point = Point(3)
    with pytest.raises(AttributeError, match="frozen"):
        point.x = 4  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del point.x
    assert point == Point(3)


def test_replaced() -> None:
    assert Point3(3).replaced(y=9) == Point3(3, 9, 2)
    with pytest.raises(TypeError):
        Point3(3).replaced(w=9)
