"""Convert positions of tfgen to ranges of the language server protocol, and back.

tfgen counts lines and columns from 1, and columns in characters. The protocol counts from 0, and counts
columns in units that the editor and the server agree on. A codec of pygls converts the units.
"""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol.types import Position as LspPosition
from lsprotocol.types import Range, TextDocumentContentChangeEvent, TextDocumentContentChangePartial, TextEdit
from pygls.workspace import PositionCodec

from tfgen.errors import Position
from tfgen.report.excerpts import token_at


def lines_of(text: str) -> list[str]:
    r"""Split a text into lines as the protocol does. A form feed or U+2028 ends no line.

    >>> lines_of("a\fb\r\nc\n")
    ['a\x0cb', 'c', '']
    """
    return text.replace("\r\n", "\n").split("\n")


def to_lsp(codec: PositionCodec, lines: Sequence[str], position: Position) -> LspPosition:
    """Convert a position of tfgen to a position of the protocol."""
    line = lines[position.line - 1] if position.line <= len(lines) else ""
    return LspPosition(position.line - 1, codec.client_num_units(line[: position.column - 1]))


def from_lsp(codec: PositionCodec, lines: Sequence[str], position: LspPosition) -> Position:
    """Convert a position of the protocol to a position of tfgen. A column after a line becomes the end of the line."""
    line = lines[position.line] if position.line < len(lines) else ""
    characters = units = 0
    while characters < len(line) and units < position.character:
        units += codec.client_num_units(line[characters])
        characters += 1
    return Position(position.line + 1, characters + 1)


def to_range(codec: PositionCodec, lines: Sequence[str], position: Position) -> Range:
    """Return the range of the word or quoted text at a position. For other text, the range is one character.

    A range never extends past the end of its line.
    """
    line = lines[position.line - 1] if position.line <= len(lines) else ""
    width = len(token_at(line, position.column)) or 1
    end = Position(position.line, position.column + width)
    return Range(to_lsp(codec, lines, position), to_lsp(codec, lines, end))


def apply_change(codec: PositionCodec, text: str, change: TextDocumentContentChangeEvent) -> str:
    """Return the text of a file after a change of the editor: a new text for a range, or for the whole file."""
    if not isinstance(change, TextDocumentContentChangePartial):
        return change.text
    start, end = (_offset(codec, text, position) for position in (change.range.start, change.range.end))
    return text[:start] + change.text + text[end:]


def _offset(codec: PositionCodec, text: str, position: LspPosition) -> int:
    lines = text.split("\n")
    if position.line >= len(lines):
        return len(text)
    above = sum(len(line) + 1 for line in lines[: position.line])
    lines[position.line] = lines[position.line].removesuffix("\r")
    return above + from_lsp(codec, lines, position).column - 1


def to_edit(codec: PositionCodec, before: str, after: str) -> TextEdit:
    """Return an edit that changes `before` to `after`. The edit leaves out the common beginning and the common end."""
    start = _common_start(before, after)
    end = _common_start(before[start:][::-1], after[start:][::-1])
    changed = Range(_at(codec, before, start), _at(codec, before, len(before) - end))
    return TextEdit(changed, after[start : len(after) - end])


def _common_start(first: str, second: str) -> int:
    """Return the length of the common beginning of two texts."""
    shorter = min(len(first), len(second))
    return next((index for index in range(shorter) if first[index] != second[index]), shorter)


def _at(codec: PositionCodec, text: str, offset: int) -> LspPosition:
    """Convert an offset in a text to a position of the protocol."""
    line = text.count("\n", 0, offset)
    return LspPosition(line, codec.client_num_units(text[text.rfind("\n", 0, offset) + 1 : offset]))
