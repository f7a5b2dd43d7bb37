"""Collects the summary of every rule. The summary is the first sentence of the rule's section in docs/rules.md."""

from __future__ import annotations

from collections.abc import Mapping

from tfgen.change import new_run
from tfgen.check import files as drift
from tfgen.check import namespace, repository, severities
from tfgen.check import objects as object_problems
from tfgen.importers import table as importers
from tfgen.live import transport
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
        **transport.RULES,
        **object_problems.RULES,
        **namespace.RULES,
        **severities.RULES,
        **enforce.RULES,
        **limits.RULES,
        **edit.RULES,
        **layout.RULES,
        **{rule.id: rule.summary for rule in RULES},
        **{rule.id: rule.summary for rule in ACROSS},
    }
