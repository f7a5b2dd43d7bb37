"""Positions of tfgen as ranges of the protocol.

tfgen counts lines and columns from 1, and columns in characters. The protocol counts from 0, and columns in the units
that editor and server agree on, which a codec of pygls converts.
"""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol.types import Position as LspPosition
from lsprotocol.types import Range
from pygls.workspace import PositionCodec

from tfgen.problems import Position
from tfgen.report.excerpts import token_at


def to_lsp(codec: PositionCodec, lines: Sequence[str], position: Position) -> LspPosition:
    """Return a position for the editor."""
    line = lines[position.line - 1] if position.line <= len(lines) else ""
    return LspPosition(position.line - 1, codec.client_num_units(line[: position.column - 1]))


def from_lsp(codec: PositionCodec, lines: Sequence[str], position: LspPosition) -> Position:
    """Return a position that the editor sent."""
    decoded = codec.position_from_client_units(lines, position)
    return Position(decoded.line + 1, decoded.character + 1)


def to_range(codec: PositionCodec, lines: Sequence[str], position: Position) -> Range:
    """Return the range of the word or the quoted text at a position; of one character for any other text."""
    line = lines[position.line - 1] if position.line <= len(lines) else ""
    width = len(token_at(line, position.column)) or 1
    end = Position(position.line, position.column + width)
    return Range(to_lsp(codec, lines, position), to_lsp(codec, lines, end))
