"""Keys and values that a job with the workload kind Pod cannot set, and properties of the objects of the job.

This workload kind runs a single task in a Pod without a controller.
"""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import Facts, LimitedKey, UnsupportedKey
from tfgen.schema.workload_kinds.shared import NO_FINISHER, WHOLE_BUDGET

FACTS: Final = Facts(
    unsupported_keys=(
        *(
            key
            for key in NO_FINISHER
            if key.path in ("startDeadline", "completion.image", "completion.notify", "tensorboard.keep")
        ),
        UnsupportedKey("completion.onFailure", "a failed Pod has nothing to release; remove the key"),
        UnsupportedKey("completion.evaluatorGrace", "a Pod has no evaluator; remove the key"),
        UnsupportedKey(
            "restart.inPlace", "the kubelet always restarts a failed container in the same pod; remove the key"
        ),
        UnsupportedKey(
            "restart.ignoreExitCodes",
            "the kubelet restarts a failed container without limit; remove the key, or use the kind Job",
        ),
        UnsupportedKey(
            "retries", "the kubelet restarts a failed container without limit; remove the key, or use the kind Job"
        ),
        WHOLE_BUDGET,
    ),
    makes_pods=True,
    limited_keys=(LimitedKey("strategy", ("Single",), "a Pod has one task; use the kind StatefulSet, Job or JobSet"),),
)
