r"""Find the YAML path of the key or value that the user types. The text need not be valid YAML.

    find_spot("spec:\n  gang: {sche", Position(2, 14))  # Spot(("spec", "gang"), is_value=False, word="sche", ...)

tfgen parses only the lines that are parents of the typed line by indentation, with a placeholder for the typed word. A
mistake in another line therefore has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tfgen.data_path import Path
from tfgen.errors import Position
from tfgen.lsp.cursor import tokens
from tfgen.text.parse import parse

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
    lines = text.replace("\r\n", "\n").split("\n")[: position.line]
    if len(lines) < position.line:
        return None
    *earlier, line = lines
    typed = line[: position.column - 1]
    before = _WORD.sub("", typed)
    word = typed.removeprefix(before)
    tail = _TAIL.match(line, len(typed))[0]  # type: ignore[index]  # the pattern matches an empty text
    has_colon = line.startswith(":", len(typed) + len(tail))
    if _COMMENT.search(_QUOTED.sub("", before)):
        return None
    ancestors = [*reversed([*_ancestors(earlier, before)])]
    start = "\n".join((*ancestors, before))
    brackets = _open_brackets(start)
    closed = "".join("}" if bracket == "{" else "]" for bracket in reversed(brackets))
    for typed_form in _typed_forms(before.rstrip(), brackets[-1:]):
        if (path := _path(f"{start}{typed_form}{closed}\n")) is not None:
            is_key = typed_form != _TYPED
            return Spot(path[:-1] if is_key else path, not is_key, word, tail, has_colon, bool(brackets))
    return None


def _typed_forms(before: str, bracket: str) -> Iterator[str]:
    """Yield the possible YAML texts of the placeholder for the typed word: a value, or a key with a value.

    After "image:", the text is the value `_TYPED`. At the beginning of a line, the text is "_TYPED: 0", with the key
    `_TYPED`. Yield nothing if YAML allows no key and no value after `before`.

    Args:
        before: the line up to the typed word.
        bracket: the innermost open brace or bracket; empty outside of braces and brackets.
    """
    if before.endswith(":"):
        yield _TYPED
    elif bracket == "{":
        if before[-1:] in ("{", ","):
            yield f"{_TYPED}: 0"
    elif bracket == "[":
        if before[-1:] in ("[", ","):
            yield _TYPED
    elif before.endswith("-"):
        yield _TYPED
    elif not before:
        yield f"{_TYPED}: 0"


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


def _path(text: str) -> Path | None:
    """Return the YAML path of the placeholder in a text; None for a text that is not valid YAML."""
    roots = (document.root for document in parse(text, "").documents)
    return next((path for root in roots for path, start, end in tokens(root) if text[start:end] == _TYPED), None)
