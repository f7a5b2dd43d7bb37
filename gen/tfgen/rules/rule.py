"""A rule, as data: what it is called, how much it weighs, and the function that finds its mistakes.

RULE = Rule("gpu-on-ps", "warning", "A parameter server asks for GPUs.", check)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from tfgen.data_path import Path
from tfgen.problems import Severity
from tfgen.record import Record
from tfgen.rules.view import View
from tfgen.text.document import Document
from tfgen.words import meant, nearest

_MOST_NAMES: Final = 200
"""The search for the nearest takes time by their number, and they may be as many as a file holds."""


class Finding(NamedTuple):
    """A mistake: its path (as `View` has paths), what was found, what is allowed, and the way out."""

    path: Path
    message: str


class Clash(NamedTuple):
    """A mistake that no job has alone: its path is that of the document."""

    document: Document
    path: Path
    message: str


class Rule(Record):
    """What must hold of a job, and of each of its environments. `summary` begins its section of docs/rules.md."""

    id: str
    severity: Severity
    summary: str
    check: Callable[[View], Iterable[Finding]]


class AcrossRule(Record):
    """What must hold of several documents together."""

    id: str
    severity: Severity
    summary: str
    check: Callable[[Sequence[Document]], Iterable[Clash]]


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A question for the name of the job's own that is nearest to one that is not there."""
    return meant(nearest(name, known)) if len(known) <= _MOST_NAMES else ""
