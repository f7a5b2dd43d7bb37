"""Problems as a SARIF log, with the summary of every rule.

The summary of a rule is the first sentence of the rule's section in docs/rules.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tfgen import __version__
from tfgen.change import new_run
from tfgen.check import files as drift
from tfgen.check import namespace, repository
from tfgen.check import objects as object_problems
from tfgen.check import source as check_source
from tfgen.errors import Problem, in_order
from tfgen.importers import table as importers
from tfgen.live import profile
from tfgen.local import plan as local
from tfgen.pipeline import check, read
from tfgen.rails import enforce, limits
from tfgen.rules.across import ACROSS
from tfgen.rules.table import RULES
from tfgen.schema import messages as schema_messages
from tfgen.text import edit, layout


def rule_summaries() -> Mapping[str, str]:
    """Return the summary of each rule, by id of the rule.

    A rule of the YAML reader has no summary, because its message suffices.
    """
    return {
        **schema_messages.RULES,
        **new_run.RULES,
        **drift.RULES,
        **read.RULES,
        **check.RULES,
        **repository.RULES,
        **importers.RULES,
        **local.RULES,
        **profile.RULES,
        **object_problems.RULES,
        **namespace.RULES,
        **check_source.RULES,
        **enforce.RULES,
        **limits.RULES,
        **edit.RULES,
        **layout.RULES,
        **{rule.id: rule.summary for rule in RULES},
        **{rule.id: rule.summary for rule in ACROSS},
    }


def sarif(problems: Iterable[Problem], notes: Iterable[str]) -> dict[str, Any]:
    """Return the SARIF log of one execution of tfgen.

    Args:
        problems: problems that the execution has found.
        notes: messages about the execution itself.
    """
    ordered, summaries = in_order(problems), rule_summaries()
    rules = sorted({problem.rule for problem in ordered})
    descriptions = {rule: {"shortDescription": {"text": text}} for rule, text in summaries.items() if text}
    driver = {
        "name": "tfgen",
        "semanticVersion": __version__,
        "rules": [{"id": rule, **descriptions.get(rule, {})} for rule in rules],
    }
    notifications = [{"level": "note", "message": {"text": note}} for note in notes]
    notified = {"toolExecutionNotifications": notifications} if notifications else {}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": True, **notified}],
                "results": [_result(problem, rules.index(problem.rule)) for problem in ordered],
            }
        ],
    }


def _result(problem: Problem, rule_index: int) -> dict[str, Any]:
    line, column = problem.position
    path = Path(problem.file)
    if path.is_absolute():
        location = {"uri": path.as_uri()}
    else:  # the path begins at the folder in which tfgen runs
        location = {"uri": quote(os.fsencode(path.as_posix())), "uriBaseId": "%SRCROOT%"}
    region = {"startLine": line, "startColumn": column}
    return {
        "ruleId": problem.rule,
        "ruleIndex": rule_index,
        "level": problem.severity,
        "message": {"text": problem.message},
        "locations": [{"physicalLocation": {"artifactLocation": location, "region": region}}],
    }
