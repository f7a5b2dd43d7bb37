"""What commands print while they work: on a terminal alone, and nothing of it stays."""

from __future__ import annotations

import io
import sys

import pytest

from tfgen.cli.output import columns, with_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "items", "shown"),
    [
        (Terminal(), 20, "\rrendering 1/20\rrendering 2/20\r\033[K"),
        (Terminal(), 19, ""),
        (io.StringIO(), 20, ""),
    ],
)
def test_long_work_is_counted_on_a_terminal_until_it_ends(
    stream: io.StringIO, items: int, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    work = with_progress(range(items), items, "rendering")
    assert (next(iter(work)), next(iter(work))) == (0, 1)
    work.close()  # as an error ends it
    assert stream.getvalue() == shown


@pytest.mark.parametrize(("value", "width"), [("72", 72), ("", None), ("wide", None), ("0", None)])
def test_the_width_is_that_of_the_variable_where_no_terminal_says_one(
    value: str, width: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", value)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert columns() == width
