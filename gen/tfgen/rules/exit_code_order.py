"""Exit codes in ``restart.ignoreExitCodes`` that are not in ascending order.

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
    for index, (previous, code) in enumerate(pairwise(codes), start=1):
        if code < previous:
            ordered = ", ".join(map(str, sorted(codes)))
            message = (
                f"the exit code {code} follows {previous}, but Kubernetes requires ascending order; write [{ordered}]"
            )
            yield Finding(("restart", "ignoreExitCodes", index), message)
            return


RULES: Final = (Rule("exit-code-order", "error", "The exit codes of a job are not in ascending order.", _check),)
