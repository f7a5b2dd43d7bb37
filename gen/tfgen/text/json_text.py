r"""Canonical JSON text, which has one notation for equal data, and readable JSON text.

    >>> canonical({"b": [1, 0.50, None], "a": "é <&>"})
    '{"a":"é <&>","b":[1,0.5,null]}'
    >>> print(dump({"type": "string", "examples": ["2", "lr-3e-4"]}), end="")
    {"type": "string", "examples": ["2", "lr-3e-4"]}

In readable text, a value is on one line if it fits, and a longer value continues on the next lines. Continuation lines
are indented by two blanks. A closing brace is at the end of the last line. In contrast, `json.dumps(indent=2)` would
write each item of a list and each brace on a separate line.

The caller can mark a mapping as a listing. If a listing does not fit on one line, each entry and the closing brace are
on separate lines.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

WIDTH: Final = 120
"""Maximum number of characters of a line of readable text."""

_in_line: Final = json.JSONEncoder(ensure_ascii=False).encode
_escaped: Final = json.encoder.encode_basestring

DIGEST_LENGTH: Final = 12
"""Number of hexadecimal digits of a digest.

Twelve digits are enough, because a digest distinguishes only the versions of a single object. A short digest keeps
labels short.
"""

_WORDS: Final = {None: "null", True: "true", False: "false"}

_WHOLE: Final = 1 << 53
"""Largest number up to which a float64 represents each whole number exactly."""

_SMALLEST, _LARGEST = 1e-6, 1e21
"""The smallest and the largest number that Go writes without an exponent."""


def digest(data: Any) -> str:
    """Return the first `DIGEST_LENGTH` digits of the SHA-256 of the data's canonical JSON text."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()[:DIGEST_LENGTH]


def have_equal_text(before: Any, after: Any) -> bool:
    """Test whether two values have the same JSON text. `True == 1` is true in Python, and 1 and 1.0 are equal.

    >>> have_equal_text([1], [True]), have_equal_text(1, 1.0), have_equal_text({"a": 1, "b": 2}, {"b": 2, "a": 1})
    (False, False, True)
    """
    return bool(before == after) and json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)


def canonical(data: Any) -> str:
    """Return the canonical JSON text of a value, so that tfgen and Helm compute the same digest.

    The text is equal to the text of Helm's `mustToRawJson`, which follows Go's encoding/json. The keys are sorted by
    characters, the text has no blanks, and few characters are escaped: U+2028, U+2029 and the characters that JSON
    requires to be escaped. Every number is a float64, because `fromYaml` reads numbers as float64
    (https://pkg.go.dev/encoding/json#Marshal, https://masterminds.github.io/sprig/defaults.html).

    Raises:
        TypeError: JSON cannot represent the value.
        ValueError: the value is infinite or NaN.
    """
    return _written(data).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _written(data: Any) -> str:
    if isinstance(data, str):
        return _escaped(data)
    if isinstance(data, dict):
        return "{" + ",".join([f"{_escaped(key)}:{_written(item)}" for key, item in sorted(data.items())]) + "}"
    if isinstance(data, (list, tuple)):
        return "[" + ",".join([_written(item) for item in data]) + "]"
    if data is None or isinstance(data, bool):
        return _WORDS[data]
    if isinstance(data, int) and abs(data) <= _WHOLE:
        return str(data)
    if isinstance(data, (int, float)):
        return _number(float(data))
    raise TypeError(f"JSON cannot represent {data!r}")


def _number(number: float) -> str:
    """Return the text of a float64 as Go writes it: the shortest text that a parser reads as the same number."""
    text = json.dumps(number, allow_nan=False)
    if number == 0 or _SMALLEST <= abs(number) < _LARGEST:
        return (_without_exponent(text) if "e" in text else text).removesuffix(".0")
    return re.sub("(e[-+])0", r"\1", text)


def _without_exponent(number: str) -> str:
    from decimal import Decimal  # the import takes 2 ms; only very small and very large numbers need it

    return f"{Decimal(number):f}"


def dump(data: Any, listings: Collection[str] = ()) -> str:
    """Return the readable text of a value with a final newline. Keys keep their order.

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
