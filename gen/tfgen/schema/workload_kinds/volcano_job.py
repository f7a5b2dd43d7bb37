"""Keys and values that a job with the workload kind VolcanoJob cannot set, and properties of the objects of the job.

This workload kind runs all roles as one Job of Volcano (batch.volcano.sh).
"""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import CustomResource, Facts, LimitedKey, UnsupportedKey
from tfgen.schema.workload_kinds.shared import LEGACY, NO_FINISHER, RELEASES, WHOLE_BUDGET, only_tf_config_strategies

_PLUGIN: Final = ("workload.volcanoJob.tfConfig", "Plugin")

FACTS: Final = Facts(
    unsupported_keys=(
        *NO_FINISHER,
        WHOLE_BUDGET,
        *(
            UnsupportedKey(
                key, "the plugin of Volcano sets only TF_CONFIG; set workload.volcanoJob.tfConfig to Own", _PLUGIN
            )
            for key in LEGACY
        ),
        UnsupportedKey("restart.inPlace", "Volcano always restarts a failed program in the same pod; remove the key"),
        UnsupportedKey(
            "restart.ignoreExitCodes",
            "Volcano restarts a failed program in the same pod and counts no retry; remove the key, or use the kind "
            "JobSet",
        ),
        UnsupportedKey("gang.minResources", "Volcano computes the resources of the gang; remove the key"),
    ),
    limited_keys=(
        RELEASES,
        only_tf_config_strategies("the plugin of Volcano", "set workload.volcanoJob.tfConfig to Own", _PLUGIN),
        LimitedKey(
            "completion.by",
            ("", "Chief", "AllWorkers"),
            "Volcano detects only the end of all tasks of a role, and not the end of worker 0; use AllWorkers, a "
            "chief, or the kind Job or TFJob",
        ),
        LimitedKey(
            "gang.scheduler",
            ("volcano",),
            "only Volcano schedules a VolcanoJob; use the scheduler volcano, or a different workload kind",
        ),
    ),
    supported_by_few=("workload.ttlSecondsAfterFinished", "workload.volcanoJob"),
    resource=CustomResource(
        group="batch.volcano.sh",
        kind="Job",
        completed="status.state.phase == 'Completed'",
        failed="status.state.phase in ['Failed', 'Aborted', 'Terminated']",
        argocd_health="volcano_job",
        # Volcano's admission allows this change, but a different minAvailable needs a different gang.
        free=("priorityClassName",),
    ),
    controller_keys=tuple(
        f"volcano.sh/{key}" for key in ("job-name", "job-namespace", "job-version", "task-index", "task-spec")
    ),
    tf_config_setter=("the plugin tensorflow", "set workload.volcanoJob.tfConfig to Own"),
)
