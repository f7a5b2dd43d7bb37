"""Find the key or the value at the cursor of an editor.

find_key(text, Position(6, 12))  # Cursor(Position(1, 1), ("spec", "image"), Position(6, 10), Position(6, 26))
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfgen.data_path import Path
from tfgen.errors import Position
from tfgen.text.document import YamlNode
from tfgen.text.parse import parse


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
    starts = [0, *(index + 1 for index, character in enumerate(text) if character == "\n")]
    if position.line > len(starts):
        return None
    offset = starts[position.line - 1] + position.column - 1
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
