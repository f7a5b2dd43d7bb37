"""The Job of Volcano."""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import CustomResource, Facts, Only, Without
from tfgen.schema.workload_kinds.shared import LEGACY, NO_FINISHER, RELEASES, WHOLE_BUDGET

_PLUGIN: Final = ("workload.volcanoJob.tfConfig", "Plugin")

FACTS: Final = Facts(
    without=(
        *NO_FINISHER,
        WHOLE_BUDGET,
        *(
            Without(key, "Volcano's plugin knows TF_CONFIG alone; set workload.volcanoJob.tfConfig to Own", _PLUGIN)
            for key in LEGACY
        ),
        Without("restart.inPlace", "Volcano starts a program that fails again in its pod; remove it"),
        Without(
            "restart.ignoreExitCodes",
            "Volcano starts a program that fails again in its pod, without a retry; remove it, or take the kind JobSet",
        ),
        Without("gang.minResources", "Volcano counts them itself; remove it"),
    ),
    only=(
        RELEASES,
        Only(
            "completion.by",
            ("", "Chief", "AllWorkers"),
            "its TaskCompleted is the end of all tasks of a role; take AllWorkers, a chief, or the kind Job or TFJob",
        ),
        Only("gang.scheduler", ("volcano",), "the job is Volcano's own; say volcano, or take another kind"),
    ),
    specific=("workload.ttlSecondsAfterFinished", "workload.volcanoJob"),
    resource=CustomResource(
        group="batch.volcano.sh",
        kind="Job",
        completed="status.state.phase == 'Completed'",
        failed="status.state.phase in ['Failed', 'Aborted', 'Terminated']",
        argocd_health="volcano_job",
        # Volcano's admission lets it change; another minAvailable is another gang.
        free=("priorityClassName",),
    ),
    controller_keys=tuple(
        f"volcano.sh/{key}" for key in ("job-name", "job-namespace", "job-version", "task-index", "task-spec")
    ),
    teller=("the plugin tensorflow", "set workload.volcanoJob.tfConfig to Own"),
)
