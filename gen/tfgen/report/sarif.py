"""Prints problems as SARIF, the format of code scanners. GitHub code scanning reads SARIF.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tfgen import __version__
from tfgen.errors import Problem, in_order


def sarif(problems: Iterable[Problem], notes: Iterable[str], summaries: Mapping[str, str]) -> dict[str, Any]:
    """Return the SARIF log of one execution of tfgen.

    Args:
        problems: problems that the execution has found.
        notes: messages about the execution itself.
        summaries: summary of each rule, by id of the rule. A rule may have no summary.
    """
    ordered = in_order(problems)
    rules = sorted({problem.rule for problem in ordered})
    notifications = [{"level": "note", "message": {"text": note}} for note in notes]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "tfgen",
                        "semanticVersion": __version__,
                        "rules": [_rule(rule, summaries.get(rule)) for rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": True,
                        **({"toolExecutionNotifications": notifications} if notifications else {}),
                    }
                ],
                "results": [_result(problem, rules.index(problem.rule)) for problem in ordered],
            }
        ],
    }


def _rule(rule: str, summary: str | None) -> dict[str, Any]:
    return {"id": rule, **({"shortDescription": {"text": summary}} if summary else {})}


def _result(problem: Problem, rule_index: int) -> dict[str, Any]:
    line, column = problem.position
    return {
        "ruleId": problem.rule,
        "ruleIndex": rule_index,
        "level": problem.severity,
        "message": {"text": problem.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _location(problem.file),
                    "region": {"startLine": line, "startColumn": column},
                }
            }
        ],
    }


def _location(file: str) -> dict[str, str]:
    """Return the SARIF location of a file. Relative paths begin at the folder in which tfgen runs."""
    path = Path(file)
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(os.fsencode(path.as_posix())), "uriBaseId": "%SRCROOT%"}
