"""Places in the text of an open file: the key at a cursor, the token to replace, and the ranges of the protocol."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from lsprotocol.types import Position as LspPosition
from lsprotocol.types import Range, TextDocumentContentChangeEvent, TextDocumentContentChangePartial, TextEdit
from pygls.workspace import PositionCodec

from tfgen.data_path import Path
from tfgen.errors import Position
from tfgen.report.problems import token_at
from tfgen.text.document import YamlNode
from tfgen.text.parse import parse


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
    return above + from_lsp(codec, [line.removesuffix("\r") for line in lines], position).column - 1


def to_edit(codec: PositionCodec, before: str, after: str) -> TextEdit:
    """Return an edit that changes `before` to `after`. The edit leaves out the common beginning and the common end."""
    start = _common_start(before, after)
    end = _common_start(before[start:][::-1], after[start:][::-1])
    lines, ends = before.split("\n"), (start, len(before) - end)
    changed = Range(*(to_lsp(codec, lines, _position(before, offset)) for offset in ends))
    return TextEdit(changed, after[start : len(after) - end])


def _common_start(first: str, second: str) -> int:
    """Return the length of the common beginning of two texts."""
    pairs = zip(first, second, strict=False)
    return next((index for index, pair in enumerate(pairs) if pair[0] != pair[1]), min(len(first), len(second)))


class Cursor(NamedTuple):
    """A key or a scalar value in a YAML text, with its start position and its end position.

    Attributes:
        root: the position at which the YAML document begins; equal to `Document.root`.
        path: the path of the key, or of the value.
        start: the position of the first character.
        end: the position after the last character.
    """

    root: Position
    path: Path
    start: Position
    end: Position


def find_key(text: str, position: Position) -> Cursor | None:
    """Return the key or the scalar value at a position; None for a blank, a comment, and after a syntax error."""
    text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if position.line > len(lines):
        return None
    offset = sum(len(line) + 1 for line in lines[: position.line - 1]) + position.column - 1
    for document in parse(text, "").documents:
        for path, start, end in tokens(document.root):
            if start <= offset <= end:
                return Cursor(document.root.position, path, _position(text, start), _position(text, end))
    return None


def tokens(node: YamlNode, path: Path = ()) -> Iterator[tuple[Path, int, int]]:
    """Yield the path, the start offset and the end offset of each key and each scalar value in a YAML node.

    `path` is the path of the node itself.
    """
    for entry in node.entries:
        if not entry.is_item:
            yield (*path, entry.key), entry.start, entry.end
        yield from tokens(entry.value, (*path, entry.key))
    if node.form in ("scalar", "alias") and node.end > node.start:
        yield path, node.start, node.end


def _position(text: str, offset: int) -> Position:
    line = text.count("\n", 0, offset) + 1
    return Position(line, offset - text.rfind("\n", 0, offset))


_TYPED: Final = "tfgen-lsp-typed-word"
"""The placeholder that replaces the typed key or value."""

_WORD: Final = re.compile(r"[\w./][\w./-]*\Z")
_TAIL: Final = re.compile(r"[\w./-]*")
_ITEM: Final = re.compile(r"(?:-[ ]+)+|-\Z")
_COMMENT: Final = re.compile(r"(?:^|\s)#")
_QUOTED: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""")


class Spot(NamedTuple):
    """A key or a value that the user types.

    Attributes:
        path: for a key, the path of the mapping that contains the key; for a value, the path of the value.
        is_value: True for a value, False for a key.
        word: the characters of the key or value before the cursor.
        tail: the characters of the key or value after the cursor.
        has_colon: whether a colon follows the key or value, as after an existing key.
        is_flow: whether the key or value is inside braces or brackets.
    """

    path: Path
    is_value: bool
    word: str
    tail: str
    has_colon: bool
    is_flow: bool


def find_spot(text: str, position: Position) -> Spot | None:
    """Return the key or value that the user types at a position; None for any other text, such as a comment."""
    *earlier, line = lines_of(text)[: position.line]
    if len(earlier) + 1 < position.line:
        return None
    typed = line[: position.column - 1]
    before = _WORD.sub("", typed)
    word = typed.removeprefix(before)
    tail = _TAIL.match(line, len(typed))[0]  # type: ignore[index]  # the pattern matches an empty text
    has_colon = line.startswith(":", len(typed) + len(tail))
    if _COMMENT.search(_QUOTED.sub("", before)):
        return None
    start = "\n".join(reversed([before, *_ancestors(earlier, before)]))
    brackets = _open_brackets(start)
    closed = "".join("}" if bracket == "{" else "]" for bracket in reversed(brackets))
    # After "image:", the user types a value. At the beginning of a line, the user types a key.
    stem, bracket = before.rstrip(), brackets[-1:]
    is_new = stem[-1:] in (bracket, ",") if bracket else not stem
    is_value = stem.endswith(":") or (stem.endswith("-") and not bracket) or (is_new and bracket == "[")
    if not (is_value or is_new):  # YAML allows no key and no value here
        return None
    text = f"{start}{_TYPED}{'' if is_value else ': 0'}{closed}\n"
    roots = (document.root for document in parse(text, "").documents)
    path = next((path for root in roots for path, start, end in tokens(root) if text[start:end] == _TYPED), None)
    if path is None:
        return None
    return Spot(path if is_value else path[:-1], is_value, word, tail, has_colon, bool(brackets))


def _ancestors(earlier: list[str], before: str) -> Iterator[str]:
    """Yield the lines that are parents of the typed line by indentation, the nearest line first.

    Args:
        earlier: the lines above the typed line.
        before: the beginning of the typed line, up to the typed word.
    """
    indent = len(before) - len(before.lstrip(" "))
    is_item = before.lstrip(" ").startswith("-")
    for line in reversed(earlier):
        content = line.lstrip(" ")
        if line.startswith(("---", "...")):
            return
        if not content or content.startswith("#"):
            continue
        depth = len(line) - len(content)
        starts_item = _ITEM.match(content) is not None
        if depth < indent or (depth == indent and is_item and not starts_item):
            yield line
            indent, is_item = depth, starts_item


def _open_brackets(text: str) -> str:
    """Return the braces and brackets that a text opens but does not close."""
    opened = ""
    for line in _QUOTED.sub("", text).split("\n"):
        for character in _COMMENT.split(line, maxsplit=1)[0]:
            if character in "{[":
                opened += character
            elif character in "}]":
                opened = opened[:-1]
    return opened
