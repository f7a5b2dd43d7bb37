"""Every rule that a problem may name, with the sentence that begins its section of docs/rules.md."""

from __future__ import annotations

from collections.abc import Mapping

from tfgen.change import immutable, run_back
from tfgen.check import enforced, limits, namespace, severities
from tfgen.check import files as drift
from tfgen.check import objects as object_problems
from tfgen.commands import import_job, local, orphans, rerun
from tfgen.rules import ACROSS, RULES
from tfgen.schema import messages as schema_messages


def rule_summaries() -> Mapping[str, str]:
    """By id. The reader of YAML has its sentences in its problems alone."""
    return {
        **schema_messages.RULES,
        **immutable.RULES,
        **run_back.RULES,
        **drift.RULES,
        **orphans.RULES,
        **rerun.RULES,
        **import_job.RULES,
        **local.RULES,
        **object_problems.RULES,
        **namespace.RULES,
        **severities.RULES,
        **enforced.RULES,
        **limits.RULES,
        **{rule.id: rule.summary for rule in RULES},
        **{rule.id: rule.summary for rule in ACROSS},
    }
