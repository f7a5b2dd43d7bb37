"""The rules of admission policies, which `tfgen.yaml` weighs as others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

POLICY_DENIED: Final = "policy-denied"
POLICY_NOT_EVALUATED: Final = "policy-not-evaluated"
POLICY_WARNING: Final = "policy-warning"

WARNINGS: Final[Mapping[str, str]] = {
    POLICY_NOT_EVALUATED: "An admission policy, or a part of it, is not evaluated, so that nobody knows its verdict.",
    POLICY_WARNING: "An admission policy of tfgen.yaml warns of an object of a job.",
}
RULES: Final[Mapping[str, str]] = {
    POLICY_DENIED: "An admission policy of tfgen.yaml refuses an object of a job.",
    **WARNINGS,
}
"""What each rule says; it begins the rule's section of docs/rules.md."""
