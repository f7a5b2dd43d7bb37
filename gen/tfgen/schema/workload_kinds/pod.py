"""A bare Pod for one task."""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import Facts, Only, Without
from tfgen.schema.workload_kinds.shared import NO_FINISHER, WHOLE_BUDGET

FACTS: Final = Facts(
    without=(
        *(
            lack
            for lack in NO_FINISHER
            if lack.path in ("startDeadline", "completion.image", "completion.notify", "tensorboard.keep")
        ),
        Without("completion.onFailure", "a Pod leaves nothing to release; remove it"),
        Without("completion.evaluatorGrace", "a Pod has no evaluator beside it; remove it"),
        Without("restart.inPlace", "a Pod's container starts again in its pod; remove it"),
        Without(
            "restart.ignoreExitCodes", "a Pod's container starts again without end; remove it, or take the kind Job"
        ),
        Without("retries", "a Pod's container is started again without end; remove it, or take the kind Job"),
        WHOLE_BUDGET,
    ),
    makes_pods=True,
    only=(Only("strategy", ("Single",), "a Pod is one task; take another kind"),),
)
