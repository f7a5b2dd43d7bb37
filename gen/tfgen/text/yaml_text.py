r"""The serializer for all YAML and JSON of tfgen: whole objects, and single scalars in the templates of a chart.

    >>> print(dump({"kind": "Job", "args": ["--rate", "1e-3"], "script": "cd /app\npython train.py\n"}), end="")
    kind: Job
    args:
    - --rate
    - "1e-3"
    script: |
      cd /app
      python train.py

YAML parsers disagree. Helm reads `y` as true, and kustomize reads `y` as a string. Helm and kustomize read `0o17` as
15, and PyYAML reads `0o17` as a string. Helm reads the commit id `1234e56` as a number, and PyYAML reads it as a
string. So tfgen writes a string without quotes only if every parser of YAML 1.1 and 1.2 reads the same string.
tests/equal/test_yaml_readers.py runs these parsers.

The layout is that of kubectl: keys in the order of the data, lists at the indentation of their key, no anchors. The
serializer also writes the comments of a `CommentedMapping`. Long lines are not folded, and an emoji is not escaped.

The serializer needs no YAML library. The serializer takes half the time of PyYAML's emitter in C, which needs a tree of
Python nodes.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
import textwrap
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tfgen.fix import NO_HINT, Fix, Hint, Replacement
from tfgen.record import EMPTY

_SHORT: Final = 200
"""Maximum number of characters of a string whose YAML text is cached."""
_COMMENT_WIDTH: Final = 120
"""Maximum number of characters of a line with a comment."""
LONGEST_KEY = 1000
"""Maximum number of characters of a key, including quotes. YAML requires the colon within 1,024 characters."""

FORBIDDEN_CHARACTER: Final = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
    + "]"
)
"""Pattern of a character that some YAML parser refuses or changes, even in quotes.

kustomize replaces U+0085 by a blank, and fails on U+007F and U+FFFE. The pattern also contains the remaining control
characters except tab and newline, the line separators, the byte order mark, the non-characters and the surrogates. No
name, argument or script needs these characters.
"""

_QUOTED = re.compile(
    r"""
      \A [?:,\[\]{}\#&*!|>'"%@`\ ]                 # begins like YAML syntax
    | \A (?: - | --- | \.\.\. ) (?: \  | \Z )      # a list item, a document marker
    | : (?: \  | \Z )                              # a key
    | \ (?: \# | \Z )                              # a comment, a blank at the end
    | [\t\n]
    | \A [-+]? [0-9._] [0-9a-fotxz_.,:+\-\ ]* \Z   # looks like a number, a date or a time
    | \A [-+]? \. (?: inf | nan ) \Z
    | \A (?: ~ | null | true | false | yes | no | on | off | y | n | = | << )? \Z
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
"""Pattern of a text that needs quotes. Without quotes, some YAML parser would not read the same string.

The pattern also matches some texts that every parser reads correctly.
"""

_ENDS_IN_FLOW = re.compile(r"[,\[\]{}]")
"""Pattern of a character that may end a plain scalar in braces or brackets."""

_BLANK_AT_LINE_END = re.compile(r"[ \t](?:\n|\Z)")


_ODD_SPACE: Final = re.compile("[\u00a0\u1680\u2000-\u200b\u202f\u205f\u2060\u3000]")


class CommentedMapping(dict[str, Any]):
    """A mapping with comments on its entries. The comments do not affect comparisons with other mappings.

    In YAML text, the comment of an entry is above the entry.

    Attributes:
        comments: the comment of each commented entry, by key of the entry.
    """

    __slots__ = ("comments",)

    def __init__(self, entries: Mapping[str, Any], comments: Mapping[str, str]) -> None:
        super().__init__(entries)
        self.comments = comments


def find_forbidden_character(text: str) -> re.Match[str] | None:
    """Return the match of the first character that some YAML parser refuses or changes; None without a match."""
    # Characters of the pattern are not printable. `isprintable` is faster, and often saves compiling the pattern.
    if text.replace("\n", "").replace("\t", "").isprintable():
        return None
    return re.search(FORBIDDEN_CHARACTER, text)


def find_odd_space(text: str) -> Hint:
    """Return the hint about the first unusual space character in a text; empty without such a character.

    For example, a no-break space looks like a blank, but YAML reads it as text.
    """
    match = _ODD_SPACE.search(text)
    if match is None:
        return NO_HINT
    name = unicodedata.name(match[0]).lower()
    odd = _ODD_SPACE.pattern
    beside_a_blank = Replacement(f"(?<=[ \n]){odd}|^{odd}|{odd}(?= )", "", where="line")
    fix = Fix("write a blank", (beside_a_blank, Replacement(odd, " ", where="line")))
    return Hint(f"the character U+{ord(match[0]):04X} ({name}) is not a blank in YAML; {fix.words}", (fix,))


def odd_space_column(line: str) -> int:
    """Return the column of the first unusual space character in a line; 1 without such a character.

    The first column is 1.
    """
    match = _ODD_SPACE.search(line)
    return match.start() + 1 if match else 1


def dump(data: object, indent: str = "") -> str:
    """Return the YAML text of data with a final newline, and with each entry and item on separate lines.

    `indent` contains the blanks before each line.

    Raises:
        TypeError: JSON cannot represent the data.
        ValueError: the data has a character of `FORBIDDEN_CHARACTER`, the key `<<`, a key longer than `LONGEST_KEY`, an
            infinity or a NaN.
    """
    lines: list[str] = []
    _add_block(lines, data, indent, indent, set())
    return "".join(lines)


def documents(objects: Iterable[object]) -> str:
    """Return objects as a YAML stream, with `---` between the documents. Raises the errors of `dump`."""
    return "---\n".join(dump(data) for data in objects)


def scalar(value: object) -> str:
    """Return the YAML text of a scalar on one line, such as `"1e-3"`, `--rate` or `4`. Raises the errors of `dump`."""
    match value:
        case str():
            return _string(value)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            # The shortest decimal text with a point: YAML 1.1 reads `1e-05`, without a point, as text.
            text = repr(value)
            return text if "." in text else text.replace("e", ".0e")
        case float():
            raise ValueError(f"JSON cannot represent the number {value}")
        case _:
            raise TypeError(f"{type(value).__name__} is not a scalar of JSON: {value!r}")


def in_line(value: object, *, is_flow: bool = True) -> str:
    """Return the YAML text of a value on one line. Collections are in braces or brackets. Raises the errors of `dump`.

    >>> in_line({"cpu": 2, "args": ["a,b"]}), in_line("a,b", is_flow=False)
    ('{cpu: 2, args: ["a,b"]}', 'a,b')

    Args:
        value: the value.
        is_flow: whether the value is inside braces or brackets, where `,` and `]` end a scalar without quotes.
    """
    if isinstance(value, dict):
        return f"{{{', '.join(f'{in_line(key)}: {in_line(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(in_line, value))}]"
    text = scalar(value)
    return json.dumps(value, ensure_ascii=False) if is_flow and _ENDS_IN_FLOW.search(text) and text == value else text


def is_literal(text: str) -> bool:
    """Return whether tfgen may write a text of several lines as a literal block (`|`).

    The text must not begin with a blank, because the block would need an indentation indicator. No line may end with a
    blank, because editors and commit hooks remove such blanks. The text must not end with empty lines, because Helm
    removes empty lines at the end of a file.
    """
    return "\n" in text and not text[0].isspace() and not text.endswith("\n\n") and not _BLANK_AT_LINE_END.search(text)


def is_misread_by_kustomize(text: str) -> bool:
    """Return whether kustomize would write a text in a notation that kustomize itself cannot read.

    The YAML library of kustomize, goyaml, writes no indentation indicator for a literal block whose first line begins
    with a tab.
    """
    return text.startswith("\t") and "\n" in text


def _add_block(lines: list[str], data: object, first: str, blanks: str, printed: set[str]) -> None:
    """Append the YAML lines of a value to the lines of a document.

    Args:
        lines: the lines of the document.
        data: the value.
        first: the text before the value on its first line, such as the dash of a list item.
        blanks: the blanks before each following line.
        printed: the comments that the document already contains. A repeated comment is written only once.
    """
    if data and isinstance(data, dict):
        comments = data.comments if isinstance(data, CommentedMapping) else EMPTY
        for key, value in data.items():
            if key in comments and comments[key] not in printed:
                printed.add(comments[key])
                # The comment of the first entry of a list item is above the dash.
                lines += _comment_lines(comments[key], first[: len(first) - len(first.lstrip(" "))])
            if value and isinstance(value, (dict, list)):
                lines.append(f"{first}{_key(key)}:\n")
                deeper = blanks if isinstance(value, list) else f"{blanks}  "
                _add_block(lines, value, deeper, deeper, printed)
            else:
                lines.append(f"{first}{_key(key)}: {_leaf(value, blanks)}\n")
            first = blanks
    elif data and isinstance(data, list):
        for item in data:
            if item and isinstance(item, (dict, list)):
                _add_block(lines, item, f"{first}- ", f"{blanks}  ", printed)
            else:
                lines.append(f"{first}- {_leaf(item, blanks)}\n")
            first = blanks
    else:
        lines.append(f"{first}{_leaf(data, blanks)}\n")


@functools.lru_cache(256)
def _comment_lines(comment: str, indent: str) -> list[str]:
    prefix = f"{indent}# "
    return [f"{prefix}{line}\n" for line in textwrap.wrap(comment, _COMMENT_WIDTH - len(prefix))]


def _leaf(value: object, indent: str) -> str:
    """Return the YAML text of a scalar or an empty collection, without the last newline.

    `indent` is the indentation of the line on which the value begins.
    """
    if isinstance(value, str):
        if "\n" not in value or not (lines := block_lines(value)):
            return _string(value)
        return "\n".join((lines[0], *(f"{indent}  {line}" if line else "" for line in lines[1:])))
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return "[]"
    return scalar(value)


def block_lines(text: str) -> list[str] | None:
    """Return the header and the lines of a literal block (`|`), without indentation; None if `is_literal` is false.

    Raises:
        ValueError: the text has a character of `FORBIDDEN_CHARACTER`.
    """
    if not is_literal(text):
        return None
    return ["|" if text.endswith("\n") else "|-", *_checked_text(text).removesuffix("\n").split("\n")]


@functools.lru_cache(1024)
def _key(key: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key in JSON is a string, not {key!r}")
    if key == "<<":
        raise ValueError("kustomize loses the key <<, even in quotes")
    text = _string(key)
    if len(text) > LONGEST_KEY:
        raise ValueError(f"a key has {len(text)} characters; YAML parsers accept {LONGEST_KEY}")
    return text


def _string(text: str) -> str:
    """Return the YAML text of a string on one line. tfgen caches the result for short strings."""
    return _short_string(text) if len(text) <= _SHORT else _quoted(text)


def _quoted(text: str) -> str:
    """Return the YAML text of a string: without quotes if possible, in single quotes to avoid escapes, or as JSON."""
    if not _QUOTED.search(_checked_text(text)):
        return text
    if "'" not in text and ('"' in text or "\\" in text) and "\n" not in text and "\t" not in text:
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False)


_short_string: Final = functools.lru_cache(1024)(_quoted)  # most keys and names occur in every object and environment


def _checked_text(text: str) -> str:
    if match := find_forbidden_character(text):
        raise ValueError(
            f"some YAML parsers reject or change the character U+{ord(match[0]):04X} at offset {match.start()}"
        )
    return text


# -- JSON --------------------------------------------------------------------------------------------------------------
#
# Canonical JSON text, which has one notation for equal data, and readable JSON text.
#
# In readable text, a value is on one line if it fits, and a longer value continues on the next lines. Continuation
# lines are indented by two blanks. A closing brace is at the end of the last line. In contrast, `json.dumps(indent=2)`
# would write each item of a list and each brace on a separate line.
#
# The caller can mark a mapping as a listing. If a listing does not fit on one line, each entry and the closing brace
# are on separate lines.


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

    >>> canonical({"b": [1, 0.50, None], "a": "é <&>"})
    '{"a":"é <&>","b":[1,0.5,null]}'

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
        if "e" in text:
            from decimal import Decimal  # the import takes 2 ms; only very small and very large numbers need it

            text = f"{Decimal(text):f}"
        return text.removesuffix(".0")
    return re.sub("(e[-+])0", r"\1", text)


def json_lines(data: Any, listings: Collection[str] = ()) -> str:
    """Return the readable text of a value with a final newline. Keys keep their order.

    >>> print(json_lines({"type": "string", "examples": ["2", "lr-3e-4"]}), end="")
    {"type": "string", "examples": ["2", "lr-3e-4"]}

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
