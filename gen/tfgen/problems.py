"""What is wrong with a user's input, and where.

    job.yaml:12:7: unknown key "replica"; did you mean "replicas"? [unknown-key]

A `Problem` is data: rules return problems, `cli` alone prints them. Lines and columns count from 1, columns in
characters, as editors show them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, NamedTuple

from tfgen.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity = Literal["error", "warning"]


class Position(NamedTuple):
    """A place in a file: line and column, both from 1."""

    line: int
    column: int


class Problem(Record):
    """One finding. `rule` is the id that docs/rules.md explains."""

    file: str
    position: Position
    message: str
    rule: str
    severity: Severity = "error"

    def __str__(self) -> str:
        """One line, whatever the names and the message hold."""
        kind = "warning: " if self.severity == "warning" else ""
        line, column = self.position
        return _printable(f"{self.file}:{line}:{column}: {kind}{self.message} [{self.rule}]")


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Each problem once, by file, position and text, so that the order never depends on which rule ran first."""
    return tuple(sorted(set(problems), key=lambda p: (p.file, p.position, p.message, p.rule, p.severity)))


def has_errors(problems: Iterable[Problem]) -> bool:
    """Whether any problem stops the work (a warning does not)."""
    return any(p.severity == "error" for p in problems)


def as_text(problems: Iterable[Problem]) -> str:
    """One line a problem."""
    return "".join(f"{p}\n" for p in in_order(problems))


def rows(problems: Iterable[Problem]) -> list[dict[str, str | int]]:
    """Problems as plain data, in order: file, line, column, message, rule, severity."""
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
    """A line a problem, from which GitHub Actions makes an annotation in the file.

    The escapes are those of https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts.
    """
    lines = []
    for problem in in_order(problems):
        line, column = problem.position
        place = f"file={_property(problem.file)},line={line},col={column},title={_property(problem.rule)}"
        lines.append(_printable(f"::{problem.severity} {place}::{_data(problem.message)}") + "\n")
    return "".join(lines)


def shown(value: object, longest: int = 60) -> str:
    r"""A user's value inside a message: as JSON, in one line, cut after `longest` characters.

    >>> shown("worker\\n"), shown(1.5), shown(None)
    ('"worker\\\\n"', '1.5', 'null')
    """
    text = _printable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _printable(text: str) -> str:
    """The text with escapes for what a terminal would obey or hide: line ends, escape sequences, text direction."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
