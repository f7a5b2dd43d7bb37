"""Prints tables as text with aligned columns."""

from __future__ import annotations

from collections.abc import Sequence


def columns(rows_of_cells: Sequence[Sequence[str]]) -> str:
    """Return a table as text with aligned columns. Each row is a sequence with the texts of the cells."""
    widths = [max(map(len, column)) for column in zip(*rows_of_cells, strict=True)]
    padded = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows_of_cells)
    return "".join(f"{line.rstrip()}\n" for line in padded)
