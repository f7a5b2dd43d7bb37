"""What is wrong with a user's input, and where.

    job.yaml:12:7: unknown key "replica"; did you mean "replicas"? [unknown-key]

A `Problem` is data: rules return problems, `cli` alone prints them. Lines and columns count from 1, columns in
characters, as editors show them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from tfgen.record import Record
from tfgen.words import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity = Literal["error", "warning"]


class Position(NamedTuple):
    """A place in a file: line and column, both from 1."""

    line: int
    column: int


class Place(NamedTuple):
    """A position in a file; `str` of it is `FILE:LINE:COLUMN`."""

    file: str
    position: Position

    def __str__(self) -> str:
        return f"{self.file}:{self.position.line}:{self.position.column}"


class Problem(Record):
    """One mistake, and its place. `rule` is the id that docs/rules.md explains."""

    file: str
    position: Position
    message: str
    rule: str
    severity: Severity = "error"

    @property
    def place(self) -> Place:
        """Where the mistake is."""
        return Place(self.file, self.position)

    def __str__(self) -> str:
        """One line, whatever the names and the message hold."""
        severity = "warning: " if self.severity == "warning" else ""
        return printable(f"{self.place}: {severity}{self.message} [{self.rule}]")


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Each problem once, by file, position and text, so that the order never depends on which rule ran first."""
    return tuple(sorted(set(problems), key=lambda p: (p.file, p.position, p.message, p.rule, p.severity)))


def has_errors(problems: Iterable[Problem]) -> bool:
    """Whether any problem stops the work (a warning does not)."""
    return any(p.severity == "error" for p in problems)
