"""A text with a cursor, for tests of editors."""

from __future__ import annotations

from tfgen.errors import Position


def marked(text: str) -> tuple[str, Position]:
    """Return the text without its only `|`, and the position of the `|`."""
    before, _, after = text.partition("|")
    return before + after, Position(before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1)
