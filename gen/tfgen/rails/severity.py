"""Severities of problems that tfgen.yaml files set: `rules` and `warningsAsErrors`.

    tfgen.yaml      rules: {latest-tag: {severity: error}}

A problem that is an error by default remains an error, because a cluster would refuse the job, or the chart would give
different objects than the overlays. Only the error of a soft rule has another severity if a tfgen.yaml sets one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.errors import Place, Problem, Severity
from tfgen.rails.rail import Comparison, Rail, all_layers, values_of
from tfgen.record import EMPTY, Record
from tfgen.text.document import Document
from tfgen.words import path_name

_ORDER: Final = ("off", "warning", "error")
"""The severities that `rules` of a tfgen.yaml may set, the weakest first."""


class RuleSetting(Record):
    """The severity of a rule, and the line of the tfgen.yaml that sets the severity.

    Attributes:
        not_ignorable: the line of `ignorable: false` for the rule in a tfgen.yaml, or None without such a line.
    """

    severity: str
    place: Place
    not_ignorable: Place | None = None

    @property
    def is_ignorable(self) -> bool:
        """Return True if a comment may ignore the problems of the rule."""
        return self.not_ignorable is None


class Severities(Record):
    """The severities that all tfgen.yaml files of a job set together.

    Attributes:
        rules: the setting of each rule, by the id of the rule.
        as_errors: the line of the tfgen.yaml that turns all warnings into errors, or None.
    """

    rules: Mapping[str, RuleSetting] = EMPTY
    as_errors: Place | None = None

    def applied(self, problem: Problem) -> Problem | None:
        """Return a problem with the severity of its rule; None for a rule that is off."""
        if not problem.is_ignorable:
            return problem
        setting = self.rules.get(problem.rule)
        severity = setting.severity if setting else problem.severity
        if severity == "off":
            return None
        if severity == "warning" and self.as_errors:
            severity, why = "error", f"{self.as_errors} turns warnings into errors"
        elif setting and severity == "error" and not setting.is_ignorable:
            why = f"{setting.place} makes this an error, and comments cannot ignore it"
        elif setting and severity != problem.severity:
            why = f"{setting.place} makes this {'an error' if severity == 'error' else 'a warning'}"
        else:
            return problem
        return problem.replaced(severity=severity, message=f"{problem.message} ({why})")


def severities_of(nearest_layer: Document | None) -> Severities:
    """Return the severities that a tfgen.yaml and the tfgen.yaml files of its parent folders set."""
    rules: dict[str, RuleSetting] = {}
    as_errors = None
    for layer in reversed([*all_layers(nearest_layer)]):
        for name, setting in layer.data.get("rules", EMPTY).items():
            place = layer.place(("rules", name, "severity"))
            not_ignorable = rules[name].not_ignorable if name in rules else None
            if setting.get("ignorable") is False and not_ignorable is None:
                not_ignorable = layer.place(("rules", name, "ignorable"))
            rules[name] = RuleSetting(setting["severity"], place, not_ignorable)
        if layer.data.get("warningsAsErrors"):
            as_errors = layer.place(("warningsAsErrors",))
    return Severities(rules, as_errors)


def with_severities(defaults: Document | None, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return problems with the severities that a tfgen.yaml and its parent folders set.

    The result contains no problem of a disabled rule. Comments that ignore warnings have no effect on the result.
    """
    applied = map(severities_of(defaults).applied, problems)
    return tuple(problem for problem in applied if problem is not None)


def _read_rules(layer: Document, key: str) -> Iterator[tuple[Path, Any]]:
    rules = layer.data.get("rules", EMPTY).items()
    return ((("rules", name, key), rule[key]) for name, rule in rules if key in rule)


def _severity_by_default(path: Path) -> Severity:
    from tfgen.rules.table import RULES  # takes 60 ms, which all commands save that compare no tfgen.yaml

    return next((rule.severity for rule in RULES if rule.id == path[1]), "warning")


def _severity_words(comparison: Comparison) -> str:
    name, new, old = path_name(comparison.path), comparison.new, comparison.old
    if not comparison.is_change:
        return (
            f"{path_name(comparison.path[:2])}: found {new}, but {comparison.base} sets {old}; a tfgen.yaml in a "
            "subfolder may only raise the severity"
        )
    set_by = f"{comparison.base} reports the {old}s" if comparison.is_default else f"{comparison.base} sets {old}"
    return f"{name}: found {new or 'no entry'}, but {set_by}"


def _ignorable_words(comparison: Comparison) -> str:
    if not comparison.is_change:
        return f"{path_name(comparison.path)}: found true, but {comparison.base} sets false"
    return f"a comment in a job may now ignore {comparison.path[1]}, which {comparison.base} forbids"


def _as_errors_words(comparison: Comparison) -> str:
    if not comparison.is_change:
        return f"warningsAsErrors: found false, but {comparison.base} sets true"
    return f"warnings are no longer errors, but {comparison.base} makes them errors"


SEVERITY_RAILS: Final = (
    Rail(
        read=values_of(("warningsAsErrors",)),
        looser=lambda old, new: [()] if old and not new else [],
        words=_as_errors_words,
        removed="the key",
    ),
    Rail(
        read=partial(_read_rules, key="severity"),
        looser=lambda old, new: [()] if _ORDER.index(new) < _ORDER.index(old) else [],
        words=_severity_words,
        default=_severity_by_default,
    ),
    Rail(
        read=partial(_read_rules, key="ignorable"),
        looser=lambda old, new: [()] if old is False and new is not False else [],
        words=_ignorable_words,
        removed="ignorable",
    ),
)
