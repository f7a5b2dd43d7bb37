"""Find the key or the value at the cursor of an editor.

find_key(text, Position(6, 12))  # Cursor(Position(1, 1), ("spec", "image"), Position(6, 10), Position(6, 26))
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import yaml

from tfgen.data_path import Path
from tfgen.problems import Position
from tfgen.text.yaml_node import YamlNode, nodes


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
    """Return the key or the scalar value at a position; None for a blank, a comment, or invalid YAML."""
    text = text.replace("\r\n", "\n")
    starts = [0, *(index + 1 for index, character in enumerate(text) if character == "\n")]
    if position.line > len(starts):
        return None
    offset = starts[position.line - 1] + position.column - 1
    try:
        documents = nodes(text)
    except yaml.YAMLError:
        return None
    for root, node in documents.items():
        for path, start, end in tokens(node):
            if start <= offset <= end:
                return Cursor(root, path, _position(text, start), _position(text, end))
    return None


def tokens(node: YamlNode, path: Path = ()) -> Iterator[tuple[Path, int, int]]:
    """Yield the path, the start offset and the end offset of each key and each scalar value in a YAML node.

    `path` is the path of the node itself.
    """
    for entry in node.entries:
        yield (*path, entry.key), entry.start, entry.end
        yield from tokens(entry.value, (*path, entry.key))
    for index, item in enumerate(node.items):
        yield from tokens(item, (*path, index))
    if node.form in ("scalar", "alias") and node.end > node.start:
        yield path, node.start, node.end


def _position(text: str, offset: int) -> Position:
    line = text.count("\n", 0, offset) + 1
    return Position(line, offset - text.rfind("\n", 0, offset))
