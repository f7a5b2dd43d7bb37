"""Work in other processes: the same results, in the same order, and the same errors."""

from __future__ import annotations

import os

import pytest

from tfgen.commands import workers
from tfgen.commands.workers import MANY, map_items
from tfgen.errors import UsageError


def squared(number: int) -> int:
    return number * number


def refused(number: int) -> int:
    if number in (7, 15):
        raise UsageError(f"{number} is refused")
    return number


def process(_: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("many", [0, 1, MANY - 1, MANY, 5 * MANY])
def test_the_results_are_in_order(many: int) -> None:
    assert [*map_items(squared, range(many))] == [number * number for number in range(many)]


@pytest.mark.parametrize("many", [MANY - 1, 5 * MANY])
def test_the_first_error_is_raised(many: int) -> None:
    with pytest.raises(UsageError, match="7 is refused"):
        [*map_items(refused, range(many))]


def test_few_items_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_processors", lambda: 2)
    assert set(map_items(process, range(MANY - 1))) == {os.getpid()}


def test_one_processor_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_processors", lambda: 1)
    assert set(map_items(process, range(5 * MANY))) == {os.getpid()}
