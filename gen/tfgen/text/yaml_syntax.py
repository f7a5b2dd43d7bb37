"""Explanations of YAML syntax errors that tell the user how to correct the text.

    a: b: c        text with ": " in it needs quotes           libyaml: mapping values are not allowed in this context
    name:foo       a blank is missing after the colon: ...     libyaml: could not find expected ':', on the next line

The columns are the text, the explanation of tfgen, and the message of libyaml, the YAML parser. libyaml reports the
position where it stopped, which is often not the position of the mistake. For each common message of libyaml, a
function of this module looks for the mistake in the surrounding text. Any other message of libyaml is shown unchanged.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from tfgen.errors import Position, Problem
from tfgen.fix import Fix, Replacement
from tfgen.record import Record
from tfgen.text.document import TOO_DEEP_MESSAGE
from tfgen.text.yaml_text import find_odd_space, odd_space_column

if TYPE_CHECKING:
    from collections.abc import Callable

    import yaml


class _Failure(Record):
    """A syntax error of libyaml.

    Attributes:
        at: the position where libyaml stopped.
        since: the position at which the unfinished quoted text or collection begins, such as the opening quote.
        lines: the lines of the text.
    """

    at: Position
    since: Position
    lines: list[str]

    @property
    def line(self) -> str:
        """Return the text of the line on which libyaml stopped."""
        return self.lines[self.at.line - 1]

    @property
    def before(self) -> str:
        """Return the beginning of the line on which libyaml stopped, up to the position where libyaml stopped."""
        return self.line[: self.at.column - 1]

    @property
    def character(self) -> str:
        """Return the character at which libyaml stopped; empty at the end of a line."""
        return self.line[self.at.column - 1 : self.at.column]

    def line_above(self) -> tuple[int, str]:
        """Return the number and the text of the previous line with content; (0, "") if no such line exists."""
        for number in range(self.at.line - 1, 0, -1):
            line = self.lines[number - 1]
            if line.strip() and not line.lstrip().startswith("#"):
                return number, line
        return 0, ""


_Explanation = tuple[Position, str]

_LONGEST_KEY = 1024
"""Maximum number of characters before the colon of a key. The whole key must be on one line.

See https://yaml.org/spec/1.2.2/#742-flow-mappings.
"""

_OPENING = {"}": "{", "]": "["}

_LONGEST_SHOWN = 60
"""Maximum number of characters of the user's text that a message shows."""

_NO_BLANK_AFTER_COLON = re.compile(r"\s*(?:- +)*(?P<key>[A-Za-z_][\w./-]*):(?P<value>[^\s:/][^:]*)$")
"""Pattern of a key and a value without a blank between them, as in `name:foo`, but not of a URL (`http://...`)."""


_BLANKS: Final = Fix("use blanks", (Replacement("\t", "  ", where="line"),))
_TAB: Final = f"a tab cannot indent YAML; {_BLANKS.words}"

_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'[^']*'|#.*""")
"""Pattern of quoted text and comments, which may contain any character."""

_CONFLICT = re.compile(r"(?:<{7}|={7}|>{7})(?: |$)")
"""Pattern of a conflict marker of git."""

_KEY_AND_VALUE = re.compile(r"\s*(?:- +)*(?P<key>[A-Za-z_][\w./-]*) +(?:[\[{\"'].*|[^\s#]+)(?: +#.*)?$")
"""Pattern of a key and a value without a colon, as in `replicas 4`. The value is a word, or quoted or in brackets."""


def explain(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    """Return the problem for a syntax error of libyaml. The position is the place that the user must correct."""
    lines = text.split("\n")
    at = min(_position(error.problem_mark), Position(len(lines), len(lines[-1]) + 1))
    failure = _Failure(at, _position(error.context_mark) if error.context_mark else at, lines)
    for number in sorted({failure.since.line, at.line, at.line - 1}):
        line = _QUOTED.sub(lambda match: "x" * len(match[0]), lines[number - 1]) if 0 < number <= len(lines) else ""
        if hint := find_odd_space(line):
            place = Position(number, odd_space_column(line))
            return Problem(file, place, hint.text, "yaml-character", fixes=hint.fixes)
    libyaml = str(error.problem)
    position, message = at, _MESSAGES.get(libyaml, libyaml)
    if "{opening}" in message:
        position, (line_of_opening, column) = failure.since, failure.since
        message = message.replace("{opening}", lines[line_of_opening - 1][column - 1 : column])
    elif libyaml in _EXPLANATIONS:
        position, message = _EXPLANATIONS[libyaml](failure)
    fixes = (_BLANKS,) if message == _TAB else ()
    return Problem(file, position, message, _RULES.get(libyaml, "yaml-syntax"), fixes=fixes)


def _position(mark: yaml.Mark | None) -> Position:
    return Position(mark.line + 1, mark.column + 1) if mark else Position(1, 1)


def _long_key(failure: _Failure, since: int) -> _Explanation | None:
    """Return the explanation of a key that is too long for YAML; None without such a key.

    `since` is the number of characters before the key on the line.
    """
    key = failure.before[since:].lstrip()
    if failure.character != ":" or len(key) <= _LONGEST_KEY or re.search(r":\s", key):
        return None
    message = f"the key has {len(key):,} characters, more than the {_LONGEST_KEY:,} that YAML allows; shorten it"
    return Position(failure.at.line, failure.at.column - len(key)), message


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def _character(failure: _Failure) -> _Explanation:
    if failure.character == "\t":
        return failure.at, _TAB
    return failure.at, f"text that begins with {failure.character} needs quotes"


def _open_bracket(failure: _Failure, collection: str, closing: str) -> _Explanation:
    key_at_most = len(failure.before) - _LONGEST_KEY
    start = 1 + max(failure.before.rfind(mark, 0, max(key_at_most, 0)) for mark in "{[,")
    if long := _long_key(failure, start):
        return long
    if failure.at.line > failure.since.line:
        return failure.since, f"the {collection} is not closed: , or {closing} is missing before line {failure.at.line}"
    return failure.at, f"expected , or {closing} here, in the {collection} that begins at column {failure.since.column}"


def _colon_not_allowed(failure: _Failure) -> _Explanation:
    """Return the explanation of a colon at a position where YAML allows no key."""
    if re.search(r":\s", failure.before) or failure.before.lstrip().startswith("---"):
        return failure.at, 'text with ": " in it needs quotes; a mapping must begin on a separate line'
    if long := _long_key(failure, len(failure.line) - len(failure.line.lstrip(" -"))):
        return long
    number, line_above = failure.line_above()
    if not line_above:
        return failure.at, "YAML does not allow a key before this colon; text with a colon needs quotes"
    if match := _NO_BLANK_AFTER_COLON.match(line_above):
        return _blank_missing(number, match)
    if re.search(r":(?:\s|$)", line_above) or (
        line_above.lstrip().startswith("- ") and not _KEY_AND_VALUE.match(line_above)
    ):
        start = len(failure.line) - len(failure.line.lstrip()) + 1
        message = f"YAML does not allow a key here: line {number} is less indented and already has a value"
        return Position(failure.at.line, start), message
    return _colon_missing(number, line_above)


def _line_without_key(failure: _Failure) -> _Explanation:
    """Return the explanation of a line in a mapping that has no key.

    libyaml stops after this line. The line begins at `failure.since`.
    """
    number = failure.since.line
    if failure.at.line == number and (long := _long_key(failure, failure.since.column - 1)):
        return long
    line = failure.lines[number - 1]
    match = _NO_BLANK_AFTER_COLON.match(line)
    return _blank_missing(number, match) if match else _colon_missing(number, line)


def _colon_missing(number: int, line: str) -> _Explanation:
    """Return the explanation of a line that has no colon after its key. `number` is the number of the line."""
    if _CONFLICT.match(line):
        message = "found a merge conflict of git; choose one side and remove the lines with the conflict markers"
        return Position(number, 1), message
    match = _KEY_AND_VALUE.match(line)
    key, end = (match["key"], match.end("key")) if match else (line.strip(), len(line.rstrip()))
    return Position(number, end + 1), f"a colon is missing after {_cut(key)}"


def _blank_missing(number: int, match: re.Match[str]) -> _Explanation:
    message = f"a blank is missing after the colon: {_cut(match['key'])}: {_cut(match['value'].strip())}"
    return Position(number, match.end("key") + 2), message


def _after_quote(failure: _Failure) -> _Explanation | None:
    """Return the explanation of text that follows quoted text on a line; None if no quoted text precedes the text."""
    quote = failure.before.rstrip()[-1:]
    if quote not in {"'", '"'}:
        return None
    inside = "''" if quote == "'" else '\\"'
    return failure.at, f"found text after the closing quote; inside these quotes, {quote} is written as {inside}"


def _no_key(failure: _Failure) -> _Explanation:
    if after_quote := _after_quote(failure):
        return after_quote
    if failure.character == "-" and failure.at.column <= failure.since.column:
        message = f"YAML does not allow a list item here, in the mapping that begins at line {failure.since.line}"
        return failure.at, message
    if failure.character == ":":
        return failure.at, "a key is missing before the colon"
    if failure.before.strip(" -"):
        return failure.at, "a line may have only one value; text that contains this part needs quotes"
    number, line_above = failure.line_above()
    if _KEY_AND_VALUE.match(line_above) and number > failure.since.line:
        return _colon_missing(number, line_above)
    return _indentation(failure, "mapping")


def _no_item(failure: _Failure) -> _Explanation:
    if after_quote := _after_quote(failure):
        return after_quote
    if failure.at.column == failure.since.column:
        return failure.at, f'expected "- " here, as in the list that begins at line {failure.since.line}'
    return _indentation(failure, "list")


def _indentation(failure: _Failure, collection: str) -> _Explanation:
    indent, expected_indent = failure.at.column - 1, failure.since.column - 1
    expected = f"the {collection} that begins at line {failure.since.line} is indented by {expected_indent}"
    return failure.at, f"this line is indented by {indent}, which matches no line above; {expected}"


def _no_document(failure: _Failure) -> _Explanation:
    if failure.character in {"}", "]"}:
        return failure.at, f"found {failure.character} without an opening {_OPENING[failure.character]}"
    message = "the document above has ended; indent this line like the first line, or write --- before this line"
    return failure.at, message


def _no_content(failure: _Failure) -> _Explanation:
    if failure.character:
        return failure.at, f"a value is missing before {failure.character}; text that begins with it needs quotes"
    return failure.at, "a value is missing here, or a [ or { above is not closed"


def _no_escape(failure: _Failure) -> _Explanation:
    escape = failure.line[failure.at.column - 1 : failure.at.column + 1]
    return failure.at, f"{escape} is not an escape of YAML; write \\{escape}, or use single quotes"


_SURROGATE = "found invalid Unicode character escape code"

TOO_DEEP = "exceeded maximum nesting depth"
"""The error of libyaml 0.2.6 and newer for a line that opens more than 1,000 levels of brackets."""

_RULES = {_SURROGATE: "yaml-character", TOO_DEEP: "yaml-depth"}

_MESSAGES = {
    "found a tab character that violates indentation": _TAB,
    "found a tab character where an indentation space is expected": _TAB,
    "block sequence entries are not allowed in this context": (
        'a list must begin on a separate line, below its key; text that begins with "- " needs quotes'
    ),
    "did not find expected hexdecimal number": (
        r"the escape is not complete; write \\ for a backslash, or use single quotes"
    ),
    _SURROGATE: "the escape does not name a Unicode character; write the character itself",
    TOO_DEEP: TOO_DEEP_MESSAGE,
    "found unexpected end of stream": "the quote {opening} is not closed",
    "found unexpected document indicator": "the quote {opening} is not closed",
    "did not find expected alphabetic or numeric character": "text that begins with {opening} needs quotes",
    "did not find expected comment or line break": (
        "the text of a block must begin on the line below {opening}; text that begins with {opening} needs quotes"
    ),
}
"""The message about each error whose position libyaml reports, by message of libyaml.

A message with the hole `{opening}`, the quote or the bracket that begins the unfinished text or collection, has the
position of this quote or bracket. Every other message has the position where libyaml stopped.
"""

_EXPLANATIONS: dict[str, Callable[[_Failure], _Explanation]] = {
    "found character that cannot start any token": _character,
    "did not find expected ',' or ']'": partial(_open_bracket, collection="list", closing="]"),
    "did not find expected ',' or '}'": partial(_open_bracket, collection="mapping", closing="}"),
    "mapping values are not allowed in this context": _colon_not_allowed,
    "could not find expected ':'": _line_without_key,
    "did not find expected key": _no_key,
    "did not find expected '-' indicator": _no_item,
    "did not find expected <document start>": _no_document,
    "did not find expected node content": _no_content,
    "found unknown escape character": _no_escape,
}
"""The function that explains each other error, by message of libyaml. libyaml misspells some words in messages."""
