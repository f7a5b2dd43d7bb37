"""Rules of tfgen that report admission policies. `tfgen.yaml` may set the severities of these rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

POLICY_DENIED: Final = "policy-denied"
POLICY_NOT_EVALUATED: Final = "policy-not-evaluated"
POLICY_WARNING: Final = "policy-warning"

WARNINGS: Final[Mapping[str, str]] = {
    POLICY_NOT_EVALUATED: "tfgen cannot evaluate an admission policy, or a part of the policy.",
    POLICY_WARNING: "An admission policy of tfgen.yaml warns about an object of a job.",
}
RULES: Final[Mapping[str, str]] = {
    POLICY_DENIED: "An admission policy of tfgen.yaml refuses an object of a job.",
    **WARNINGS,
}
"""The summary of each rule, which begins the section of the rule in docs/rules.md."""
