"""The order of the exit codes that cost no retry.

The API server refuses a podFailurePolicy whose exit codes are not in ascending order:
validatePodFailurePolicyRuleOnExitCodes in pkg/apis/batch/validation/validation.go of Kubernetes 1.31.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View


def _check(view: View) -> Iterator[Finding]:
    codes = view.values.get("restart", {}).get("ignoreExitCodes", ())
    for index, (before, code) in enumerate(pairwise(codes), start=1):
        if code < before:
            ordered = ", ".join(map(str, sorted(codes)))
            message = f"the exit code {code} follows {before}, and Kubernetes wants ascending order; write [{ordered}]"
            yield Finding(("restart", "ignoreExitCodes", index), message)
            return


RULES: Final = (Rule("exit-code-order", "error", "Exit codes are not in ascending order.", _check),)
