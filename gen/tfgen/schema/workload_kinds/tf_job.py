"""The TFJob of the training operator."""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import CustomResource, Facts, Only, Without
from tfgen.schema.workload_kinds.shared import NO_FINISHER, NO_LEGACY, WHOLE_BUDGET

_OLD: Final = ("workload.tfJob.apiVersion", "v1beta1")
_DYNAMIC: Final = ("workload.tfJob.enableDynamicWorker", True)
_TOLD_OF_NONE: Final = "where workers come and go, the operator tells it of no task; remove it, or enableDynamicWorker"

FACTS: Final = Facts(
    without=(
        *NO_FINISHER,
        *NO_LEGACY,
        WHOLE_BUDGET,
        Without("retries", "kubeflow.org/v1beta1 knows no limit of them; remove it, or take v1", _OLD),
        Without("restart.inPlace", "the operator makes each failed pod anew; take the kind Job, JobSet or StatefulSet"),
        Without("restart.ignoreExitCodes", "each failure counts there; take the kind Job, JobSet or StatefulSet"),
        Without("workload.tfJob.enableDynamicWorker", "kubeflow.org/v1beta1 has none; remove it, or take v1", _OLD),
        Without("roles.chief", _TOLD_OF_NONE, _DYNAMIC),
        Without("roles.evaluator", _TOLD_OF_NONE, _DYNAMIC),
        Without("workload.suspend", "kubeflow.org/v1beta1 cannot suspend; remove it, or take v1", _OLD),
        Without(
            "workload.tfJob.activeDeadlineSeconds",
            "kubeflow.org/v1beta1 knows none; set deadline, which the pods keep themselves, or take v1",
            _OLD,
        ),
        Without(
            "gang.schedulerName",
            "the operator is started with it; remove it, or set workload.tfJob.gang to PodGroup",
            ("workload.tfJob.gang", "Operator"),
        ),
    ),
    only=(
        Only(
            "gang.scheduler",
            ("volcano", "kube-batch", "coscheduling", "kueue"),
            "the definition of a TFJob drops the pods' schedulingGroup; take the kind Job",
        ),
        Only(
            "completion.by",
            ("", "Chief", "Worker0"),
            "kubeflow.org/v1beta1 has no successPolicy; take v1",
            _OLD,
        ),
        Only(
            "strategy",
            ("ParameterServer",),
            "where workers come and go, each knows the ps alone; remove enableDynamicWorker",
            _DYNAMIC,
        ),
        Only(
            "workload.tfJob.gang",
            ("PodGroup",),
            "the operator makes one by spec.runPolicy, which kubeflow.org/v1beta1 has not",
            _OLD,
        ),
        Only(
            "gang.scheduler",
            ("volcano",),
            "the operator makes no PodGroup of another; set workload.tfJob.gang to PodGroup",
            ("workload.tfJob.gang", "Operator"),
        ),
    ),
    specific=(
        "workload.suspend",
        "workload.ttlSecondsAfterFinished",
        "workload.tfJob",
        "roles.*.restartPolicy",
    ),
    resource=CustomResource(
        group="kubeflow.org",
        kind="TFJob",
        completed="status.conditions.exists(c, c.type == 'Succeeded' && c.status == 'True')",
        failed="status.conditions.exists(c, c.type == 'Failed' && c.status == 'True')",
        argocd_health="tfjob",
        suspend="/spec/runPolicy/suspend",
        free=(
            "cleanPodPolicy",
            "ttlSecondsAfterFinished",
            "runPolicy.cleanPodPolicy",
            "runPolicy.ttlSecondsAfterFinished",
            "runPolicy.backoffLimit",
            "runPolicy.activeDeadlineSeconds",
            "runPolicy.suspend",
        ),
    ),
    controller_keys=("training.kubeflow.org/", "tf-job-name", "tf-replica-type", "tf-replica-index"),
    is_admitted_whole=True,
    teller=("the training operator", "take the kind Job or JobSet, or let the program take it out"),
)
