"""Keys and values that a job with the workload kind TFJob cannot set, and properties of the objects of the job.

This workload kind runs all roles as one TFJob of the Kubeflow training operator.
"""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import CustomResource, Facts, LimitedKey, UnsupportedKey
from tfgen.schema.workload_kinds.shared import NO_FINISHER, NO_LEGACY, WHOLE_BUDGET, only_tf_config_strategies

_OLD: Final = ("workload.tfJob.apiVersion", "v1beta1")
_DYNAMIC: Final = ("workload.tfJob.enableDynamicWorker", True)
_WITHOUT_ADDRESSES: Final = (
    "with dynamic workers, the operator passes no addresses of tasks to this role; remove the key, or "
    "enableDynamicWorker"
)

FACTS: Final = Facts(
    unsupported_keys=(
        *NO_FINISHER,
        *NO_LEGACY,
        WHOLE_BUDGET,
        UnsupportedKey("retries", "kubeflow.org/v1beta1 does not limit retries; remove the key, or use v1", _OLD),
        UnsupportedKey(
            "restart.inPlace", "the operator replaces each failed pod; use the kind Job, JobSet or StatefulSet"
        ),
        UnsupportedKey(
            "restart.ignoreExitCodes",
            "the operator counts every failure as a retry; use the kind Job, JobSet or StatefulSet",
        ),
        UnsupportedKey(
            "workload.tfJob.enableDynamicWorker",
            "kubeflow.org/v1beta1 does not have this field; remove the key, or use v1",
            _OLD,
        ),
        UnsupportedKey("roles.chief", _WITHOUT_ADDRESSES, _DYNAMIC),
        UnsupportedKey("roles.evaluator", _WITHOUT_ADDRESSES, _DYNAMIC),
        UnsupportedKey(
            "workload.suspend", "kubeflow.org/v1beta1 cannot suspend a job; remove the key, or use v1", _OLD
        ),
        UnsupportedKey(
            "workload.tfJob.activeDeadlineSeconds",
            "kubeflow.org/v1beta1 does not have this field; set deadline, which applies to the pods, or use v1",
            _OLD,
        ),
        UnsupportedKey(
            "gang.schedulerName",
            "a flag of the operator sets the name of the scheduler; remove the key, or set workload.tfJob.gang to "
            "PodGroup",
            ("workload.tfJob.gang", "Operator"),
        ),
    ),
    limited_keys=(
        only_tf_config_strategies("the operator", "use the kind StatefulSet, Job, JobSet or VolcanoJob"),
        LimitedKey(
            "gang.scheduler",
            ("volcano", "kube-batch", "coscheduling", "kueue"),
            "this scheduler needs the field schedulingGroup of the pods, but the CRD of TFJob drops the field; use the "
            "kind Job",
        ),
        LimitedKey(
            "completion.by",
            ("", "Chief", "Worker0"),
            "kubeflow.org/v1beta1 has no successPolicy; set workload.tfJob.apiVersion to v1",
            _OLD,
        ),
        LimitedKey(
            "strategy",
            ("ParameterServer",),
            "dynamic workers receive only the addresses of the ps; remove enableDynamicWorker",
            _DYNAMIC,
        ),
        LimitedKey(
            "workload.tfJob.gang",
            ("PodGroup",),
            "the operator creates a PodGroup from spec.runPolicy, which kubeflow.org/v1beta1 does not have; "
            "set workload.tfJob.gang to PodGroup, or set workload.tfJob.apiVersion to v1",
            _OLD,
        ),
        LimitedKey(
            "gang.scheduler",
            ("volcano",),
            "the operator itself creates a PodGroup only for Volcano; set workload.tfJob.gang to PodGroup, so that "
            "tfgen renders the PodGroup",
            ("workload.tfJob.gang", "Operator"),
        ),
    ),
    supported_by_few=(
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
    tf_config_setter=("the training operator", "use the kind Job or JobSet, or remove the evaluator in the program"),
)
