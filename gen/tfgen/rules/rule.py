"""Classes for rules. A rule has an id, a severity, a summary, and a function that finds mistakes.

@rule("gpu-on-ps", "warning", "A parameter server requests GPUs.")
def gpu_on_ps(view: View) -> Iterator[Finding]: ...
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tfgen.data_path import Path
from tfgen.errors import Severity
from tfgen.fix import DataEdit, Fix, Hint, Replacement, meant
from tfgen.record import Record
from tfgen.words import nearest

if TYPE_CHECKING:
    from tfgen.rules.view import View
    from tfgen.text.document import Document

_MAX_NAMES: Final = 200
"""Maximum number of names that the search for a similar name compares, because each comparison takes time."""


class Finding(NamedTuple):
    """A mistake in a job.

    Attributes:
        path: the path of the mistake in the values of the chart, as in `View`.
        message: the value in the job, the allowed values, and the correction.
        cause: a text that is equal for the same mistake in all variants of a job. A rule sets the cause if the messages
            of the variants differ, for example in a number. If the cause is empty, the message identifies the mistake.
        fixes: the fixes that the message proposes, with paths of the values of the chart.
    """

    path: Path
    message: str
    cause: str = ""
    fixes: tuple[Fix, ...] = ()


def advise(path: Path, message: str, hint: Hint, cause: str = "") -> Finding:
    """Return the finding whose message ends with a hint."""
    return Finding(path, f"{message}{hint.text}", cause, hint.fixes)


class Recorded(NamedTuple):
    """The data of one job for a rule that compares several jobs.

    Attributes:
        number: the position of the job in the list of compared jobs.
        job: the name of the job.
        record: the result of `AcrossRule.record`. A cached result comes from JSON, so tuples may have become lists.
    """

    number: int
    job: str
    record: Any


class Clash(NamedTuple):
    """A conflict between jobs.

    Attributes:
        number: the position of the job to report, in the list of compared jobs.
        path: the path of the conflict in the document of the job.
    """

    number: int
    path: Path
    message: str


class Rule(Record):
    """A rule that checks a job and each of its environments.

    Attributes:
        severity: the severity by default.
        summary: the first sentence of the rule's section in docs/rules.md.
        is_soft: True for a rule whose errors a cluster would accept. A tfgen.yaml may set the severity of a soft rule,
            and a comment may ignore its errors, as for a rule that warns.
    """

    id: str
    severity: Severity
    summary: str
    check: Callable[[View], Iterable[Finding]]
    is_soft: bool = False

    @property
    def is_ignorable(self) -> bool:
        """Return True if a tfgen.yaml may set the severity of the rule, and a comment may ignore its problems."""
        return self.severity == "warning" or self.is_soft


def rule(
    id_: str, severity: Severity, summary: str, *, is_soft: bool = False
) -> Callable[[Callable[[View], Iterable[Finding]]], Rule]:
    """Return a decorator that makes a rule of the function that finds the mistakes."""
    return lambda check: Rule(id_, severity, summary, check, is_soft)


class AcrossRule(Record):
    """A rule that compares several documents.

    The rule compares small records of the documents, so that tfgen does not read a document whose record is cached.

    Attributes:
        record: the function that returns the record of a document as JSON data, or None if no conflict is possible.
        check: the function that finds conflicts between the records. The function gets only records that are not None.
        find: the function that finds the mistakes in a document alone; None for a rule that compares documents.
    """

    id: str
    severity: Severity
    summary: str
    record: Callable[[Document], Any]
    check: Callable[[Sequence[Recorded]], Iterable[Clash]]
    find: Callable[[Document], Iterable[Finding]] | None = None

    def fixes(self, document: Document, clash: Clash) -> tuple[Fix, ...]:
        """Return the fixes of a conflict in a document. A record has no fixes, so the rule finds the mistake again."""
        found = self.find(document) if self.find else ()
        return next((item.fixes for item in found if item[:2] == (clash.path, clash.message)), ())


def rule_alone(
    rule: str, severity: Severity, summary: str, find: Callable[[Document], Iterable[Finding]]
) -> AcrossRule:
    """Return an `AcrossRule` that finds mistakes in each document alone, and compares no documents.

    The record of a document is the list of mistakes that `find` returns, so tfgen can cache the mistakes.
    """
    return AcrossRule(
        rule,
        severity,
        summary,
        lambda document: [(found.path, found.message) for found in find(document)],
        lambda jobs: (Clash(job.number, tuple(path), message) for job in jobs for path, message in job.record),
        find,
    )


def did_you_mean(
    name: str, names: Collection[str], edit: Callable[[str], DataEdit | Replacement] | None = None
) -> Hint:
    """Return a hint such as `; did you mean "data"?` for an unknown `name`; empty if none of `names` is similar.

    `edit` returns the edit that writes the similar name.
    """
    near = nearest(name, names) if len(names) <= _MAX_NAMES else None
    return meant(near, *([edit(near)] if near and edit else []), written=name)
