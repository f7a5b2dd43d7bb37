"""A text with a cursor, for tests of editors."""

from __future__ import annotations

from tfgen.problems import Position


def marked(text: str) -> tuple[str, Position]:
    """The text without its one |, and the position of it."""
    before, _, after = text.partition("|")
    return before + after, Position(before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1)
