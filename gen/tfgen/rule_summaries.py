"""Every rule that a problem may name, with the sentence that begins its section of docs/rules.md."""

from __future__ import annotations

from collections.abc import Mapping

from tfgen import drift, immutable, object_problems, rerun, schema_messages
from tfgen.rules import ACROSS, RULES


def rule_summaries() -> Mapping[str, str]:
    """By id. The reader of YAML has its sentences in its problems alone."""
    return {
        **schema_messages.RULES,
        **immutable.RULES,
        **drift.RULES,
        **rerun.RULES,
        **object_problems.RULES,
        **{rule.id: rule.summary for rule in RULES},
        **{rule.id: rule.summary for rule in ACROSS},
    }
