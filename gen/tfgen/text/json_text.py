"""Data as JSON text for people: what fits into a line stands in one, and what does not goes on in the next.

    >>> print(dump({"type": "string", "examples": ["2", "lr-3e-4"]}), end="")
    {"type": "string", "examples": ["2", "lr-3e-4"]}

What goes on is indented by two, and so is what a brace at the end of a line opens. A closing brace stands at the end of
the last line; after a listing, whose entries have a line each, it begins one, under the line that opened it.
`json.dumps(indent=2)` gives each number of a list a line of its own, and each brace one more.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

WIDTH: Final = 120
_in_line: Final = json.JSONEncoder(ensure_ascii=False).encode


def dump(data: Any, listings: Collection[str] = ()) -> str:
    """One value, with a final newline; keys in the given order. Raises TypeError for what JSON cannot say.

    Args:
        data: the value.
        listings: the keys whose mappings are too long for a line give each of their entries one.
    """
    line = _in_line(data)
    if len(line) <= WIDTH or not data or not isinstance(data, dict | list):
        return f"{line}\n"
    opening, closing = "{}" if isinstance(data, dict) else "[]"
    return f"{opening}\n  {_fill(_members(data, listings), '  ', '  ', 0, listings)}\n{closing}\n"


class _Member(NamedTuple):
    """What stands between the commas of a collection: `head` is its key, with the colon."""

    head: str
    value: Any
    is_listing: bool = False


def _members(data: dict[str, Any] | list[Any], listings: Collection[str] = ()) -> Sequence[_Member]:
    if isinstance(data, list):
        return [_Member("", item) for item in data]
    return [_Member(f"{_in_line(key)}: ", value, key in listings) for key, value in data.items()]


def _text(member: _Member, indent: str, column: int, tail: int, listings: Collection[str]) -> str:
    """The text of a member, with its key.

    Args:
        member: what is written.
        indent: the blanks before the line that it begins in.
        column: how many characters this line has already.
        tail: how many characters follow on its last line.
        listings: the keys of listings.
    """
    head, value, is_listing = member
    line = head + _in_line(value)
    if column + len(line) + tail <= WIDTH or not value or not isinstance(value, dict | list):
        return line
    inner = f"{indent}  "
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    if is_listing or (isinstance(value, list) and not all(len(inner) + len(_in_line(item)) < WIDTH for item in value)):
        lines = [_text(entry, inner, len(inner), 1, listings) for entry in _members(value)]
        return f"{head}{opening}\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}{closing}"
    start = f"{head}{opening}"
    body = _fill(_members(value, listings), indent, inner, tail, listings, column + len(start) - len(indent))
    return f"{start}{body}{closing}"


def _fill(
    members: Sequence[_Member], indent: str, inner: str, tail: int, listings: Collection[str], begun: int = 0
) -> str:
    """The members of a collection, as many in a line as fit; the last may begin in one line and end in another.

    Args:
        members: what is written.
        indent: the blanks before the line that the first begins in.
        inner: the blanks before the lines that follow.
        tail: how many characters follow the bracket that closes the collection.
        listings: the keys of listings.
        begun: how many characters the first line has behind its blanks.
    """
    text = ""
    column = len(indent) + begun
    for number, member in enumerate(members):
        is_last = number == len(members) - 1
        after = tail + 1 if is_last else 1
        line = member.head + _in_line(member.value)
        if text and column + 2 + len(line) + after <= WIDTH:
            text, column = f"{text}, {line}", column + 2 + len(line)
            continue
        if text and is_last and len(inner) + len(line) + after > WIDTH:
            part = _text(member, indent, column + 2, after, listings)
            if "\n" in part and column + 2 + part.index("\n") <= WIDTH:
                return f"{text}, {part}"
        if text:
            text, indent, column = f"{text},\n{inner}", inner, len(inner)
        part = _text(member, indent, column, after, listings)
        text, column = text + part, WIDTH if "\n" in part else column + len(part)
    return text
