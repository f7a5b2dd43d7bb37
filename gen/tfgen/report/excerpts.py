"""Problems for a person at a terminal: each with its line of the file and a caret below it; many alike are folded.

    job.yaml:9:15: unknown key "replica" in spec.roles.worker; did you mean "replicas"? [unknown-key]
      |
    9 |     worker: {replica: 4}
      |              ^~~~~~~

What is piped stays one line a problem (`problems.as_text`), as editors and CI read it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from tfgen.plural import count
from tfgen.problems import Problem, in_order
from tfgen.words import printable

Lines = Callable[[str], Sequence[str]]
"""The lines of a file; none where it cannot be read."""

MOST_ALIKE: Final = 5
"""Problems of one rule that are shown."""

_WIDTH: Final = 100
"""Characters of a line that are shown."""
_BEFORE: Final = 40
"""Of a longer line, those before the caret."""

_TOKEN: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s,:\[\]{}#]+(?::[^\s,\[\]{}]+)*""")


def as_excerpts(problems: Iterable[Problem], lines: Lines) -> str:
    """The problems in order, of each rule the first `MOST_ALIKE`, and then how many more there are."""
    shown: dict[str, int] = {}
    text = ""
    for problem in in_order(problems):
        shown[problem.rule] = shown.get(problem.rule, 0) + 1
        if shown[problem.rule] <= MOST_ALIKE:
            text += "".join(f"{line}\n" for line in (str(problem), *_excerpt(problem, lines(problem.file))))
    for rule, number in shown.items():
        if number > MOST_ALIKE:
            text += (
                f"{count(number - MOST_ALIKE, 'more problem')} of {rule}; where the output is piped, all are there\n"
            )
    return text


def token_at(line: str, column: int) -> str:
    """Return the word or the quoted text at a column, which counts from 1; empty for a column without either."""
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
    yield f"{number} | {lead}{_visible(line[start:end])}{trail}"
    blanks = " " * _columns(lead + line[start : column - 1])
    yield f"{margin} | {blanks}^{'~' * (_columns(marked) - 1)}"


def _visible(text: str) -> str:
    """The text as it is shown: a tab, too, is as wide as it is written."""
    return printable(text)


def _columns(text: str) -> int:
    """The columns of a terminal that the shown text takes."""
    return sum(_width(character) for character in _visible(text))


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
