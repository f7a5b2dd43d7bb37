"""Tests of log lines: the order of their times, and the lines that tfgen has already read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tfgen.live.log_text import LogPosition, read_line
from tfgen.live.run_state import last_step


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2026-11-22T10:00:00.1Z", "2026-11-22T10:00:00.11Z"),
        ("2026-11-22T10:00:00.999999999Z", "2026-11-22T10:00:01Z"),
        ("2026-11-22T12:00:00.5+02:00", "2026-11-22T10:00:00.500000001Z"),
    ],
)
def test_times_are_compared_by_what_they_mean(earlier: str, later: str) -> None:
    """A kubelet writes times in the time zone of its node, and omits trailing zeros."""
    assert read_line(f"{earlier} a").at < read_line(f"{later} b").at


def test_a_line_keeps_its_text() -> None:
    line = read_line("2026-11-22T10:00:00Z   two  words ")
    assert (line.time, line.text) == ("2026-11-22T10:00:00Z", "  two  words ")
    assert read_line("failed to open the log").text == "failed to open the log"


LOG = [
    "2026-11-22T10:00:00.1Z a",
    "2026-11-22T10:00:00.2Z b",
    "2026-11-22T10:00:00.2Z b",
    "2026-11-22T10:00:00.2Z b",
    "2026-11-22T10:00:00.3Z c",
    "2026-11-22T10:00:01.1Z a",
    "2026-11-22T10:00:01.1Z d",
]


@pytest.mark.parametrize("first", range(len(LOG) + 1))
@pytest.mark.parametrize("second", range(len(LOG) + 1))
def test_a_log_that_breaks_off_twice_is_read_once(first: int, second: int) -> None:
    position = LogPosition()
    read: list[str] = []

    def take(lines: Sequence[str]) -> None:
        begin = position.begin()
        lines = [raw for raw in lines if not begin or raw[:19] >= begin[:19]]  # the API compares whole seconds
        read.extend(raw for raw in lines if position.advance(read_line(raw)))

    take(LOG[:first])
    take(LOG[:second])
    take(LOG)
    assert read == LOG


def test_a_clock_that_is_set_back_loses_no_line() -> None:
    position = LogPosition()
    raws = ["2026-11-22T10:00:05Z a", "2026-11-22T10:00:01Z b", "2026-11-22T10:00:02Z c"]
    assert all(position.advance(read_line(raw)) for raw in raws)


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("INFO step 100: loss 0.4\nINFO step 200: loss 0.3\n", 200),
        ("global_step = 12", 12),
        ("Step 3/100", 3),
        ("timestep 9", None),
        ("", None),
    ],
)
def test_the_last_step_is_read(text: str, step: int | None) -> None:
    assert last_step(text) == step
