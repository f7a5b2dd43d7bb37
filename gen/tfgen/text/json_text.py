"""Readable JSON text. A value is on one line if it fits, and a longer value continues on the next lines.

    >>> print(dump({"type": "string", "examples": ["2", "lr-3e-4"]}), end="")
    {"type": "string", "examples": ["2", "lr-3e-4"]}

Continuation lines are indented by two blanks. A closing brace is at the end of the last line. In contrast,
`json.dumps(indent=2)` would write each item of a list and each brace on a separate line.

The caller can mark a mapping as a listing. If a listing does not fit on one line, each entry and the closing brace are
on separate lines.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

WIDTH: Final = 120
_in_line: Final = json.JSONEncoder(ensure_ascii=False).encode


def dump(data: Any, listings: Collection[str] = ()) -> str:
    """Return the text of a value with a final newline. Keys keep their order.

    Args:
        data: the value. The keys of its mappings are strings.
        listings: keys whose values are mappings. If such a mapping does not fit on one line, each of its entries is
            on a separate line.

    Raises:
        TypeError: JSON cannot represent the value.
    """
    whole = _member("", data, listings)
    if len(whole.line) <= WIDTH or not whole.members:
        return f"{whole.line}\n"
    return f"{whole.opening}\n  {_fill(whole.members, '  ', '  ', 0)}\n{whole.closing}\n"


class _Member(NamedTuple):
    """A list item, or a mapping entry: a key with its value.

    Attributes:
        head: the key of the entry, with the colon; empty for a list item.
        line: the text of the whole item or entry on one line.
        members: the items or entries of the value, if the value is a list or a mapping.
        opening: the opening bracket of the value.
        closing: the closing bracket of the value.
        is_listing: whether each entry of the value is on a separate line if the value does not fit on one line.
    """

    head: str
    line: str
    members: Sequence[_Member] = ()
    opening: str = ""
    closing: str = ""
    is_listing: bool = False


def _member(head: str, value: Any, listings: Collection[str], *, is_listing: bool = False) -> _Member:
    """Return a list item, or a mapping entry, as a `_Member`. `head` is the key with the colon; empty for a list item.

    A mapping is a listing if its key is in `listings`, except for a mapping inside a listing. The user chooses the keys
    inside a listing, so such a key may equal a key in `listings` by chance.
    """
    if isinstance(value, dict):
        members = [
            _member(f"{_in_line(key)}: ", item, listings, is_listing=not is_listing and key in listings)
            for key, item in value.items()
        ]
        opening, closing = "{", "}"
    elif isinstance(value, list):
        members, opening, closing = [_member("", item, listings) for item in value], "[", "]"
    else:
        return _Member(head, head + _in_line(value))
    line = ", ".join([member.line for member in members])
    return _Member(head, f"{head}{opening}{line}{closing}", members, opening, closing, is_listing)


def _text(member: _Member, indent: str, column: int, tail: int) -> str:
    """Return the text of a list item or a mapping entry, on one or several lines.

    Args:
        member: the item or entry.
        indent: the blanks at the start of the line on which the text begins.
        column: the number of characters before the text on this line.
        tail: the number of characters that follow the text on its last line.
    """
    head, line, members, opening, closing, is_listing = member
    if column + len(line) + tail <= WIDTH or not members:
        return line
    deeper = f"{indent}  "
    if is_listing or (opening == "[" and not all(len(deeper) + len(item.line) < WIDTH for item in members)):
        lines = [_text(entry, deeper, len(deeper), 1) for entry in members]
        return f"{head}{opening}\n{deeper}" + f",\n{deeper}".join(lines) + f"\n{indent}{closing}"
    start = f"{head}{opening}"
    return f"{start}{_fill(members, indent, deeper, tail, column + len(start) - len(indent))}{closing}"


def _fill(members: Sequence[_Member], indent: str, deeper: str, tail: int, begun: int = 0) -> str:
    """Return the text of several items or entries. Each line contains as many items or entries as fit.

    Args:
        members: the items or entries.
        indent: the blanks at the start of the line on which the first item or entry begins.
        deeper: the blanks at the start of the following lines.
        tail: the number of characters that follow the closing bracket of the list or mapping.
        begun: the number of characters on the first line before the first item or entry, without the blanks.
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
        if text and is_last and len(deeper) + len(line) + after > WIDTH:
            part = _text(member, indent, column + 2, after)
            if "\n" in part and column + 2 + part.index("\n") <= WIDTH:
                return f"{text}, {part}"
        if text:
            text, indent, column = f"{text},\n{deeper}", deeper, len(deeper)
        part = _text(member, indent, column, after)
        text, column = text + part, WIDTH if "\n" in part else column + len(part)
    return text
