"""Problems as text, with excerpts of the files, as data for JSON, as annotations of GitHub and as SARIF."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tfgen import __version__
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
    lines = []
    for problem in in_order(problems):
        line, column = problem.position
        place = f"file={_property(problem.file)},line={line},col={column},title={_property(problem.rule)}"
        lines.append(printable(f"::{problem.severity} {place}::{_data(problem.message)}") + "\n")
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


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
    yield f"{number} | {lead}{_visible(line[start:end])}{trail}"
    blanks = " " * _columns(lead + line[start : column - 1])
    yield f"{margin} | {blanks}^{'~' * (_columns(marked) - 1)}"


def _visible(text: str) -> str:
    """Return a text in which visible escapes replace control characters, such as a tab."""
    return printable(text)


def _columns(text: str) -> int:
    """Return the number of terminal columns that the printed text occupies."""
    return sum(_width(character) for character in _visible(text))


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def sarif(problems: Iterable[Problem], notes: Iterable[str], summaries: Mapping[str, str]) -> dict[str, Any]:
    """Return the SARIF log of one execution of tfgen.

    Args:
        problems: problems that the execution has found.
        notes: messages about the execution itself.
        summaries: summary of each rule, by id of the rule. A rule may have no summary.
    """
    ordered = in_order(problems)
    rules = sorted({problem.rule for problem in ordered})
    notifications = [{"level": "note", "message": {"text": note}} for note in notes]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "tfgen",
                        "semanticVersion": __version__,
                        "rules": [_rule(rule, summaries.get(rule)) for rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": True,
                        **({"toolExecutionNotifications": notifications} if notifications else {}),
                    }
                ],
                "results": [_result(problem, rules.index(problem.rule)) for problem in ordered],
            }
        ],
    }


def _rule(rule: str, summary: str | None) -> dict[str, Any]:
    return {"id": rule, **({"shortDescription": {"text": summary}} if summary else {})}


def _result(problem: Problem, rule_index: int) -> dict[str, Any]:
    line, column = problem.position
    return {
        "ruleId": problem.rule,
        "ruleIndex": rule_index,
        "level": problem.severity,
        "message": {"text": problem.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _location(problem.file),
                    "region": {"startLine": line, "startColumn": column},
                }
            }
        ],
    }


def _location(file: str) -> dict[str, str]:
    """Return the SARIF location of a file. Relative paths begin at the folder in which tfgen runs."""
    path = Path(file)
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(os.fsencode(path.as_posix())), "uriBaseId": "%SRCROOT%"}
