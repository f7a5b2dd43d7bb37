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
        data: the value. The keys of its mappings are texts.
        listings: the keys whose mappings are too long for a line give each of their entries one.
    """
    whole = _member("", data, listings)
    if len(whole.line) <= WIDTH or not whole.members:
        return f"{whole.line}\n"
    return f"{whole.opening}\n  {_fill(whole.members, '  ', '  ', 0)}\n{whole.closing}\n"


class _Member(NamedTuple):
    """What stands between the commas of a collection.

    Attributes:
        head: its key, with the colon.
        line: all of it in one line, with its key.
        members: of its value, where that is a collection.
        opening: the bracket before them.
        closing: the one behind them.
        is_listing: whether each of them has a line where they do not fit into one.
    """

    head: str
    line: str
    members: Sequence[_Member] = ()
    opening: str = ""
    closing: str = ""
    is_listing: bool = False


def _member(head: str, value: Any, listings: Collection[str], *, is_listing: bool = False) -> _Member:
    """A member, from the lines of those within it. The keys of a listing are names, and so no listings."""
    if isinstance(value, dict):
        members = [
            _member(f"{_in_line(key)}: ", inner, listings, is_listing=not is_listing and key in listings)
            for key, inner in value.items()
        ]
        opening, closing = "{", "}"
    elif isinstance(value, list):
        members, opening, closing = [_member("", item, listings) for item in value], "[", "]"
    else:
        return _Member(head, head + _in_line(value))
    line = ", ".join([member.line for member in members])
    return _Member(head, f"{head}{opening}{line}{closing}", members, opening, closing, is_listing)


def _text(member: _Member, indent: str, column: int, tail: int) -> str:
    """The text of a member, with its key.

    Args:
        member: what is written.
        indent: the blanks before the line that it begins in.
        column: how many characters this line has already.
        tail: how many characters follow on its last line.
    """
    head, line, members, opening, closing, is_listing = member
    if column + len(line) + tail <= WIDTH or not members:
        return line
    inner = f"{indent}  "
    if is_listing or (opening == "[" and not all(len(inner) + len(item.line) < WIDTH for item in members)):
        lines = [_text(entry, inner, len(inner), 1) for entry in members]
        return f"{head}{opening}\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}{closing}"
    start = f"{head}{opening}"
    return f"{start}{_fill(members, indent, inner, tail, column + len(start) - len(indent))}{closing}"


def _fill(members: Sequence[_Member], indent: str, inner: str, tail: int, begun: int = 0) -> str:
    """The members of a collection, as many in a line as fit; the last may begin in one line and end in another.

    Args:
        members: what is written.
        indent: the blanks before the line that the first begins in.
        inner: the blanks before the lines that follow.
        tail: how many characters follow the bracket that closes the collection.
        begun: how many characters the first line has behind its blanks.
    """
    text = ""
    column = len(indent) + begun
    for number, member in enumerate(members):
        is_last = number == len(members) - 1
        after = tail + 1 if is_last else 1
        line = member.line
        if text and column + 2 + len(line) + after <= WIDTH:
            text, column = f"{text}, {line}", column + 2 + len(line)
            continue
        if text and is_last and len(inner) + len(line) + after > WIDTH:
            part = _text(member, indent, column + 2, after)
            if "\n" in part and column + 2 + part.index("\n") <= WIDTH:
                return f"{text}, {part}"
        if text:
            text, indent, column = f"{text},\n{inner}", inner, len(inner)
        part = _text(member, indent, column, after)
        text, column = text + part, WIDTH if "\n" in part else column + len(part)
    return text
