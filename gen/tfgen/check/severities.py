"""Severities of warnings: the settings of tfgen.yaml files for rules, and the comments that ignore a warning.

    tfgen.yaml      rules: {latest-tag: {severity: error}}
    job.yaml        image: tf:latest  # tfgen: ignore latest-tag it moves on purpose

A problem that is an error by default always remains an error, because a cluster would refuse the job, or the chart
would give different objects than the overlays. A comment with a reason ignores a warning, even if `severity: error` or
`warningsAsErrors` makes the warning an error. With `ignorable: false`, no comment ignores the problems of a rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tfgen.check.checked import Reported
from tfgen.check.namespace import RULES as NAMESPACE_RULES
from tfgen.check.object_table import WARNINGS as OBJECT_WARNINGS
from tfgen.errors import Problem
from tfgen.rails.rail import GUARD_RAIL, LOOSENED
from tfgen.rails.severity import severities_of
from tfgen.record import EMPTY
from tfgen.rules.across import ACROSS
from tfgen.rules.table import RULES as JOB_RULES
from tfgen.text.document import Directive, Document
from tfgen.words import meant, nearest, path_name, shown

IGNORE_COMMENT: Final = "ignore-comment"
UNUSED_IGNORE: Final = "unused-ignore"

RULES: Final[Mapping[str, str]] = {
    GUARD_RAIL: "A guard rail of a tfgen.yaml is incomplete, or is looser than a guard rail in a parent folder.",
    IGNORE_COMMENT: "A comment that ignores a warning names no rule, or gives no reason.",
    UNUSED_IGNORE: "A comment ignores a warning that does not occur.",
    LOOSENED: "A change of a tfgen.yaml loosens a guard rail.",
}
"""The summary of each rule, which begins the rule's section of docs/rules.md. The last two rules report warnings."""

WARNINGS: Final = frozenset(
    (
        *(rule.id for rule in JOB_RULES if rule.severity == "warning"),
        *(rule.id for rule in ACROSS if rule.severity == "warning"),
        *NAMESPACE_RULES,
        *OBJECT_WARNINGS,
        UNUSED_IGNORE,
        LOOSENED,
    )
)
"""The rules whose problems are warnings by default."""


def set_severities(document: Document, problems: Iterable[Problem], *, is_guarded: bool = True) -> Reported:
    """Apply the severities of the tfgen.yaml files and the ignore comments to the problems of a job.

    The result contains no problem of a disabled rule. The attribute `ignored` of the result lists the warnings that
    comments ignore.

    Args:
        document: the job.
        problems: the problems of the job.
        is_guarded: False if no tfgen.yaml and no comment applies, so that all problems keep their severities.
    """
    if not is_guarded:
        return Reported(tuple(problems))
    severities = severities_of(document.under)
    comments = {(layer.file, ignored) for layer in document.layers() for ignored in _ignored(layer.directives)}
    reported, ignored = [], []
    for problem in problems:
        setting = severities.rules.get(problem.rule)
        reported_problem = severities.applied(problem)
        if reported_problem is None:
            continue
        if (
            problem.severity == "warning"
            and (setting is None or setting.is_ignorable)
            and (problem.file, (problem.position.line, problem.rule)) in comments
        ):
            ignored.append(problem)
        else:
            reported.append(reported_problem)
    return Reported(tuple(reported), tuple(ignored))


def check_comments(documents: Iterable[Document]) -> Iterator[Problem]:
    """Yield a problem for each incorrect `# tfgen: ignore` comment in the files."""
    for file, directives in {document.file: document.directives for document in documents}.items():
        for directive in directives:
            if message := _fault(directive):
                yield Problem(file, directive.position, message, IGNORE_COMMENT)


def find_unused(documents: Iterable[Document], ignored: Iterable[Problem]) -> Iterator[Problem]:
    """Yield a problem for each comment that ignores no warning.

    Args:
        documents: the jobs after all checks.
        ignored: the warnings that comments ignore.
    """
    used = {(problem.file, problem.position.line, problem.rule) for problem in ignored}
    for document in {document.file: document for document in documents}.values():
        rules = severities_of(document.under).rules if document.directives else EMPTY
        for directive in document.directives:
            if _fault(directive):
                continue
            rule = _rule(directive)
            if (document.file, directive.line, rule) in used:
                continue
            if rule in rules and (place := rules[rule].not_ignorable):
                message = f"{place} forbids comments that ignore {rule}; remove the comment"
            else:
                message = f"line {directive.line} has no warning of {rule}; remove the comment"
            yield Problem(document.file, directive.position, message, UNUSED_IGNORE, "warning")


def report_unused(documents: Iterable[Document], ignored: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return the problems of `find_unused` with the severities that the tfgen.yaml files of each job set."""
    reports = (set_severities(document, find_unused((document,), ignored)) for document in documents)
    return tuple(problem for report in reports for problem in report.problems)


def check_severities(defaults: Document) -> Iterator[Problem]:
    """Yield a problem for each invalid entry of `rules` in a tfgen.yaml, such as an unknown rule."""
    layer = defaults.alone()
    for name, setting in layer.data.get("rules", EMPTY).items():
        place = layer.place(("rules", name))
        if name not in WARNINGS:
            message = (
                f"{shown(name)} is not the id of a warning; a tfgen.yaml can set the severity of warnings only"
                f"{_nearest(name)}"
            )
            yield Problem(*place, message, GUARD_RAIL)
        elif setting["severity"] == "off" and not setting.get("reason"):
            message = f"{path_name(('rules', name))} has the severity off, but no reason; add reason"
            yield Problem(*place, message, GUARD_RAIL)


def _ignored(directives: Sequence[Directive]) -> Iterator[tuple[int, str]]:
    """Yield the line and the rule id of each valid ignore comment, such as (12, "latest-tag")."""
    return ((directive.line, _rule(directive)) for directive in directives if not _fault(directive))


def _rule(directive: Directive) -> str:
    return directive.words.split()[1]


def _fault(directive: Directive) -> str:
    """Return the message for an incorrect `# tfgen:` comment; empty for a correct comment."""
    syntax = "write # tfgen: ignore RULE REASON"
    match directive.words.split():
        case ["ignore", rule, *_] if rule == LOOSENED:
            return f"comments cannot ignore {rule}; remove the comment"
        case ["ignore", rule, *_] if rule not in WARNINGS:
            return f"{shown(rule)} is not the id of a warning; comments ignore warnings only{_nearest(rule)}"
        case ["ignore", _, _, *_]:
            return ""
        case ["ignore", rule]:
            return f"the comment gives no reason to ignore {rule}; {syntax}"
        case ["ignore"]:
            return f"the comment names no rule; {syntax}"
        case words:
            return f"found {shown(words[0] if words else '')}, expected ignore; {syntax}"


def _nearest(name: str) -> str:
    return meant(nearest(name, WARNINGS))
