"""Prints problems as text, as plain data, and as annotations of GitHub Actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
from tfgen.errors import Problem, in_order
from tfgen.words import printable


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
