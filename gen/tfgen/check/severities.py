"""Severities of problems: the settings of tfgen.yaml files for rules, and the comments that ignore a problem.

    tfgen.yaml      rules: {latest-tag: {severity: error}}
    job.yaml        image: tf:latest  # tfgen: ignore latest-tag it moves on purpose

A problem that is an error by default remains an error, because a cluster would refuse the job, or the chart would give
different objects than the overlays. The exceptions are the errors of a soft rule (`Rule.is_soft`), which have settings
and comments as warnings have. A comment with a reason ignores a warning, even if `severity: error` or
`warningsAsErrors` makes the warning an error. With `ignorable: false`, no comment ignores the problems of a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tfgen.check.checked import Reported
from tfgen.check.namespace import RULES as NAMESPACE_RULES
from tfgen.check.object_table import WARNINGS as OBJECT_WARNINGS
from tfgen.errors import Problem
from tfgen.fix import NO_HINT, Fix, Hint, Rename, Replacement, meant
from tfgen.rails.rail import GUARD_RAIL, LOOSENED
from tfgen.rails.severity import severities_of
from tfgen.record import EMPTY
from tfgen.rules.across import ACROSS
from tfgen.rules.table import RULES as JOB_RULES
from tfgen.text.document import Directive, Document
from tfgen.words import nearest, path_name, shown

IGNORE_COMMENT: Final = "ignore-comment"
UNUSED_IGNORE: Final = "unused-ignore"

RULES: Final[Mapping[str, str]] = {
    GUARD_RAIL: "A guard rail of a tfgen.yaml is incomplete, or is looser than a guard rail in a parent folder.",
    IGNORE_COMMENT: "A comment that ignores a problem names no rule, or gives no reason.",
    UNUSED_IGNORE: "A comment ignores a problem that does not occur.",
    LOOSENED: "A change of a tfgen.yaml loosens a guard rail.",
}
"""The summary of each rule, which begins the rule's section of docs/rules.md. The last two rules report warnings."""

IGNORABLE: Final = frozenset(
    (
        *(rule.id for rule in JOB_RULES if rule.is_ignorable),
        *(rule.id for rule in ACROSS if rule.severity == "warning"),
        *NAMESPACE_RULES,
        *OBJECT_WARNINGS,
        UNUSED_IGNORE,
        LOOSENED,
    )
)
"""The rules whose severity a tfgen.yaml may set: the rules that warn, and the soft rules."""


def set_severities(document: Document, problems: Iterable[Problem], *, is_guarded: bool = True) -> Reported:
    """Apply the severities of the tfgen.yaml files and the ignore comments to the problems of a job.

    The result contains no problem of a disabled rule. The attribute `ignored` of the result lists the problems that
    comments ignore.

    Args:
        document: the job.
        problems: the problems of the job.
        is_guarded: False if no tfgen.yaml and no comment applies. A problem that these could ignore is a warning then.
    """
    if not is_guarded:
        return Reported(tuple(item.replaced(severity="warning") if item.is_soft else item for item in problems))
    severities = severities_of(document.under)
    comments = {(layer.file, ignored) for layer in document.layers() for ignored in _ignored(layer.directives)}
    reported, ignored = [], []
    for problem in problems:
        setting = severities.rules.get(problem.rule)
        reported_problem = severities.applied(problem)
        if reported_problem is None:
            continue
        if (
            problem.is_ignorable
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
            if fault := _fault(directive):
                yield Problem(file, directive.position, fault.text, IGNORE_COMMENT, fixes=fault.fixes)


def find_unused(documents: Iterable[Document], ignored: Iterable[Problem]) -> Iterator[Problem]:
    """Yield a problem for each comment that ignores no problem.

    Args:
        documents: the jobs after all checks.
        ignored: the problems that comments ignore.
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
                message = f"{place} forbids comments that ignore {rule}; {_NO_COMMENT.words}"
            else:
                message = f"line {directive.line} has no problem of {rule}; {_NO_COMMENT.words}"
            yield Problem(document.file, directive.position, message, UNUSED_IGNORE, "warning", (_NO_COMMENT,))


def report_unused(documents: Iterable[Document], ignored: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return the problems of `find_unused` with the severities that the tfgen.yaml files of each job set."""
    reports = (set_severities(document, find_unused((document,), ignored)) for document in documents)
    return tuple(problem for report in reports for problem in report.problems)


def check_severities(defaults: Document) -> Iterator[Problem]:
    """Yield a problem for each invalid entry of `rules` in a tfgen.yaml, such as an unknown rule."""
    layer = defaults.alone()
    for name, setting in layer.data.get("rules", EMPTY).items():
        place = layer.place(("rules", name))
        if name not in IGNORABLE:
            near = nearest(name, IGNORABLE)
            hint = meant(near, Rename(("rules", name), near or name), written=name)
            message = f"{shown(name)} is not the id of a rule whose severity a tfgen.yaml can set"
            yield Problem(*place, f"{message}{hint.text}", GUARD_RAIL, fixes=hint.fixes)
        elif setting["severity"] == "off" and not setting.get("reason"):
            message = f"{path_name(('rules', name))} has the severity off, but no reason; add reason"
            yield Problem(*place, message, GUARD_RAIL)


def _ignored(directives: Sequence[Directive]) -> Iterator[tuple[int, str]]:
    """Yield the line and the rule id of each valid ignore comment, such as (12, "latest-tag")."""
    return ((directive.line, _rule(directive)) for directive in directives if not _fault(directive))


def _rule(directive: Directive) -> str:
    return directive.words.split()[1]


def _fault(directive: Directive) -> Hint:
    """Return the message and the fix for an incorrect `# tfgen:` comment; empty for a correct comment."""
    syntax = "write # tfgen: ignore RULE REASON"
    match directive.words.split():
        case ["ignore", rule, *_] if rule == LOOSENED:
            return Hint(f"comments cannot ignore {rule}; {_NO_COMMENT.words}", (_NO_COMMENT,))
        case ["ignore", rule, *_] if rule not in IGNORABLE:
            near = nearest(rule, IGNORABLE)
            hint = meant(near, Replacement(rf"(?<=\s){re.escape(rule)}(?=\s)", near or rule, "rest"), written=rule)
            message = f"{shown(rule)} is not the id of a rule whose problems comments can ignore{hint.text}"
            return Hint(message, hint.fixes)
        case ["ignore", _, _, *_]:
            return NO_HINT
        case ["ignore", rule]:
            return Hint(f"the comment gives no reason to ignore {rule}; {syntax}")
        case ["ignore"]:
            return Hint(f"the comment names no rule; {syntax}")
        case words:
            return Hint(f"found {shown(words[0] if words else '')}, expected ignore; {syntax}")


_NO_COMMENT: Final = Fix("remove the comment", (Replacement(r"^[ \t]*#.*\n|[ \t]*# *tfgen:[^\r\n]*", "", "line"),))
