"""A rule, as data: what it is called, how much it weighs, and the function that finds its mistakes.

RULE = Rule("gpu-on-ps", "warning", "A parameter server requests GPUs.", check)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tfgen.data_path import Path
from tfgen.problems import Severity
from tfgen.record import Record
from tfgen.words import meant, nearest

if TYPE_CHECKING:
    from tfgen.rules.finding import Finding
    from tfgen.rules.view import View
    from tfgen.text.document import Document

_MOST_NAMES: Final = 200
"""The search for the nearest takes time by their number, and they may be as many as a file holds."""


class Recorded(NamedTuple):
    """What a rule judges of one job.

    Attributes:
        number: the job's, among all that are judged together.
        job: its name.
        record: as the rule's `record` gave it, or as JSON carries that: with lists for tuples.
    """

    number: int
    job: str
    record: Any


class Clash(NamedTuple):
    """A mistake that no job has alone: the job's number, and the path in its document."""

    number: int
    path: Path
    message: str


class Rule(Record):
    """What must hold of a job, and of each of its environments. `summary` begins its section of docs/rules.md."""

    id: str
    severity: Severity
    summary: str
    check: Callable[[View], Iterable[Finding]]


class AcrossRule(Record):
    """What must hold of several documents together.

    A rule judges by a small record of each, so that a job whose record is known need not be read again.

    Attributes:
        record: what counts of a document, as data that JSON carries; nothing where the document cannot clash.
        check: finds what is wrong with the records, those that are nothing left out.
    """

    id: str
    severity: Severity
    summary: str
    record: Callable[[Document], Any]
    check: Callable[[Sequence[Recorded]], Iterable[Clash]]


def rule_alone(
    rule: str, severity: Severity, summary: str, find: Callable[[Document], Iterable[Finding]]
) -> AcrossRule:
    """A rule for what one document says in several environments: its record is what is wrong with it."""
    return AcrossRule(
        rule,
        severity,
        summary,
        lambda document: [(path, message) for path, message, _ in find(document)],
        _recorded_clashes,
    )


def _recorded_clashes(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    return (Clash(job.number, tuple(path), message) for job in jobs for path, message in job.record)


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A question for the name of the job's own that is nearest to one that is not there."""
    return meant(nearest(name, known)) if len(known) <= _MOST_NAMES else ""
