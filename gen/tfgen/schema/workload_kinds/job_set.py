"""Keys and values that a job with the workload kind JobSet cannot set, and properties of the objects of the job.

This workload kind runs all roles as one JobSet. The controller of the JobSet creates a Job for each role.
"""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import CustomResource, Facts, LimitedKey
from tfgen.schema.workload_kinds.shared import JOB_KEYS, NO_FINISHER, RELEASES, WHOLE_BUDGET

FACTS: Final = Facts(
    unsupported_keys=(*NO_FINISHER, WHOLE_BUDGET),
    limited_keys=(
        RELEASES,
        LimitedKey(
            "workload.jobSet.startOrder",
            ("Together",),
            "a gang starts all tasks together, but this order starts the ps first; remove gang or startOrder",
            ("gang.scheduler", "*"),
        ),
    ),
    supported_by_few=("workload.suspend", "workload.ttlSecondsAfterFinished", "workload.jobSet"),
    resource=CustomResource(
        group="jobset.x-k8s.io",
        kind="JobSet",
        completed="status.conditions.exists(c, c.type == 'Completed' && c.status == 'True')",
        failed="status.conditions.exists(c, c.type == 'Failed' && c.status == 'True')",
        argocd_health="jobset",
        suspend="/spec/suspend",
        free=("suspend", "ttlSecondsAfterFinished"),
    ),
    controller_keys=("jobset.sigs.k8s.io/", *JOB_KEYS),
    is_admitted_whole=True,
)
