"""Problems as text, with excerpts of the files, as data for JSON, and as annotations of GitHub."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from tfgen.errors import Problem, in_order
from tfgen.words import count, printable


def as_text(problems: Iterable[Problem]) -> str:
    """Return one line for each problem: file, line, column, message and rule."""
    return "".join(f"{p}\n" for p in in_order(problems))


def rows(problems: Iterable[Problem]) -> list[dict[str, str | int]]:
    """Return the problems as plain data for JSON, with the keys file, line, column, message, rule and severity."""
    return [
        {
            "file": problem.file,
            "line": problem.position.line,
            "column": problem.position.column,
            "message": problem.message,
            "rule": problem.rule,
            "severity": problem.severity,
        }
        for problem in in_order(problems)
    ]


def as_github(problems: Iterable[Problem]) -> str:
    """Return one workflow command for each problem. GitHub Actions shows the problem as an annotation of the file.

    Source of the escapes: https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts
    """
    text = ""
    for problem in in_order(problems):
        line, column = problem.position
        file, title = (_escaped(part, "%\r\n:,") for part in (problem.file, problem.rule))
        place = f"file={file},line={line},col={column},title={title}"
        text += printable(f"::{problem.severity} {place}::{_escaped(problem.message)}") + "\n"
    return text


def _escaped(text: str, characters: str = "%\r\n") -> str:
    return "".join(f"%{ord(character):02X}" if character in characters else character for character in text)


Lines = Callable[[str], Sequence[str]]
"""Function that returns the lines of the file with a given path; an empty list for an unreadable file."""

MOST_ALIKE: Final = 5
"""Maximum number of problems that are printed for a rule."""

_WIDTH: Final = 100
"""Maximum number of printed characters of a line."""
_BEFORE: Final = 40
"""Number of characters that are printed before the caret in a line longer than `_WIDTH`."""

_TOKEN: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s,:\[\]{}#]+(?::[^\s,\[\]{}]+)*""")


def as_excerpts(problems: Iterable[Problem], lines: Lines) -> str:
    """Return a text with at most `MOST_ALIKE` problems of each rule. The last lines count the omitted problems.

    `lines` is a function that returns the lines of a file.
    """
    shown: dict[str, int] = {}
    text = ""
    for problem in in_order(problems):
        shown[problem.rule] = shown.get(problem.rule, 0) + 1
        if shown[problem.rule] <= MOST_ALIKE:
            text += "".join(f"{line}\n" for line in (str(problem), *_excerpt(problem, lines(problem.file))))
    for rule, number in shown.items():
        if number > MOST_ALIKE:
            hidden = count(number - MOST_ALIKE, "more problem")
            text += f"{hidden} of the rule {rule}; pipe the output to see all problems\n"
    return text


def token_at(line: str, column: int) -> str:
    """Return the word or the quoted text at a column; empty if the column has neither. The first column is 1."""
    token = _TOKEN.match(line, column - 1)
    return token[0] if token else ""


def _excerpt(problem: Problem, lines: Sequence[str]) -> Iterator[str]:
    number, column = problem.position
    if number > len(lines) or not lines[number - 1].strip():
        return
    line = lines[number - 1]
    start = max(column - 1 - _BEFORE, 0) if len(line) > _WIDTH else 0
    end = min(len(line), start + _WIDTH)
    marked = token_at(line[:end], column) or " "
    lead, trail = ("... " if start else ""), (" ..." if end < len(line) else "")
    margin = " " * len(str(number))
    yield f"{margin} |"
    yield f"{number} | {lead}{printable(line[start:end])}{trail}"
    blanks = " " * _columns(lead + line[start : column - 1])
    yield f"{margin} | {blanks}^{'~' * (_columns(marked) - 1)}"


def _columns(text: str) -> int:
    """Return the number of terminal columns that the printed text occupies."""
    characters = [character for character in printable(text) if not unicodedata.combining(character)]
    return len(characters) + sum(unicodedata.east_asian_width(character) in ("W", "F") for character in characters)
