r"""The YAML serializer for all output of tfgen: whole objects, and single scalars in the templates of a chart.

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
import json
import math
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

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


def find_odd_space(text: str) -> str | None:
    """Return the message about the first unusual space character in a text; None if the text has no such character.

    For example, a no-break space looks like a blank, but YAML reads it as text.
    """
    match = _ODD_SPACE.search(text)
    if match is None:
        return None
    name = unicodedata.name(match[0]).lower()
    return f"the character U+{ord(match[0]):04X} ({name}) is not a blank in YAML; write a blank"


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
            return _float(value)
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


@functools.lru_cache(1024)  # most keys and names occur in every object and environment
def _short_string(text: str) -> str:
    return _quoted(text)


def _quoted(text: str) -> str:
    """Return the YAML text of a string: without quotes if possible, in single quotes to avoid escapes, or as JSON."""
    if not _QUOTED.search(_checked_text(text)):
        return text
    if "'" not in text and ('"' in text or "\\" in text) and "\n" not in text and "\t" not in text:
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False)


def _checked_text(text: str) -> str:
    if match := find_forbidden_character(text):
        raise ValueError(
            f"some YAML parsers reject or change the character U+{ord(match[0]):04X} at offset {match.start()}"
        )
    return text


def _float(value: float) -> str:
    """Return the shortest decimal text with a point for a number. YAML 1.1 reads `1e-05`, without a point, as text."""
    text = repr(value)
    return text if "." in text else text.replace("e", ".0e")
