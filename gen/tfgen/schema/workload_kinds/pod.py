"""Keys and values that a job with the workload kind Pod cannot set, and properties of the objects of the job.

This workload kind runs a single task in a Pod without a controller.
"""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import Facts, LimitedKey, Without
from tfgen.schema.workload_kinds.shared import NO_FINISHER, WHOLE_BUDGET

FACTS: Final = Facts(
    unsupported_keys=(
        *(
            lack
            for lack in NO_FINISHER
            if lack.path in ("startDeadline", "completion.image", "completion.notify", "tensorboard.keep")
        ),
        Without("completion.onFailure", "a failed Pod has nothing to release; remove the key"),
        Without("completion.evaluatorGrace", "a Pod has no evaluator; remove the key"),
        Without("restart.inPlace", "the kubelet always restarts a failed container in the same pod; remove the key"),
        Without(
            "restart.ignoreExitCodes",
            "the kubelet restarts a failed container without limit; remove the key, or use the kind Job",
        ),
        Without(
            "retries", "the kubelet restarts a failed container without limit; remove the key, or use the kind Job"
        ),
        WHOLE_BUDGET,
    ),
    makes_pods=True,
    limited_keys=(LimitedKey("strategy", ("Single",), "a Pod has one task; use the kind StatefulSet, Job or JobSet"),),
)
