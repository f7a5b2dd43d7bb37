"""What a workload kind cannot say of a job: one table of facts a kind.

    >>> lacking({"workload": {"kind": "Job"}}, ("podDisruptionBudget", "maxUnavailable"))
    'the budget of pods whose controller cannot be scaled is all of them; remove it, or take the kind StatefulSet'

One rule refuses a job that says it (`rules.workload_kind`), and the chart of such a kind has no value for it
(`tunables`). Everything else of job.yaml holds for every kind. A path is the spec's, with ``*`` for any one key; it
stands for all that is below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

from tfgen import data_path
from tfgen.record import Record
from tfgen.schema import file as schema_file

WorkloadKind: TypeAlias = Literal["StatefulSet", "Job", "TFJob", "VolcanoJob", "JobSet", "Pod", "ElasticDL"]
WORKLOAD_KINDS: Final[tuple[WorkloadKind, ...]] = get_args(WorkloadKind)

Condition: TypeAlias = tuple[str, str | bool] | None
"""A path and its value, or ``*`` where it has any; or always."""


class Without(Record):
    """What a kind has no place for, and the way out."""

    path: str
    way_out: str
    when: Condition = None


class Only(Record):
    """The values that a kind has a place for, of a key that decides the structure, and why."""

    path: str
    values: tuple[str, ...]
    why: str
    when: Condition = None


class Facts(Record):
    """What one kind cannot say."""

    without: tuple[Without, ...] = ()
    only: tuple[Only, ...] = ()


# -- the words that not all kinds have ---------------------------------------------------------------------------

_OWN: Final[Mapping[str, tuple[WorkloadKind, ...]]] = {
    "workload.suspend": ("TFJob", "JobSet"),
    "workload.ttlSecondsAfterFinished": ("TFJob", "VolcanoJob", "JobSet"),
    "workload.tfJob": ("TFJob",),
    "roles.*.restartPolicy": ("TFJob",),
    "workload.volcanoJob": ("VolcanoJob",),
    "workload.jobSet": ("JobSet",),
    "workload.elasticDL": ("ElasticDL",),
}
"""What is for some kinds alone."""

_NO_FINISHER: Final = (
    Without("startDeadline", "no finisher watches its start; remove it"),
    Without("completion.onFailure", "the operator releases a job that failed, too; remove it"),
    Without("completion.evaluatorGrace", "the operator ends the evaluator with the job; remove it"),
    Without("completion.image", "it needs no finisher; remove it"),
    Without("tensorboard.keep", "no finisher scales TensorBoard down; remove it"),
)
_NO_FLAGS: Final = Without("legacyFlags", "its tasks read TF_CONFIG; take the kind StatefulSet or Job")
_WHOLE_BUDGET: Final = Without(
    "podDisruptionBudget.maxUnavailable",
    "the budget of pods whose controller cannot be scaled is all of them; remove it, or take the kind StatefulSet",
)

# -- the kinds ---------------------------------------------------------------------------------------------------

_OLD_TF_JOB: Final = ("workload.tfJob.apiVersion", "v1beta1")
_DYNAMIC_TF_JOB: Final = ("workload.tfJob.enableDynamicWorker", True)
_TOLD_OF_NONE: Final = "where workers come and go, the operator tells it of no task; remove it, or enableDynamicWorker"

_TF_JOB: Final = Facts(
    without=(
        *_NO_FINISHER,
        _NO_FLAGS,
        _WHOLE_BUDGET,
        Without("retries", "kubeflow.org/v1beta1 knows no limit of them; remove it, or take v1", _OLD_TF_JOB),
        Without(
            "workload.tfJob.enableDynamicWorker", "kubeflow.org/v1beta1 has none; remove it, or take v1", _OLD_TF_JOB
        ),
        Without("roles.chief", _TOLD_OF_NONE, _DYNAMIC_TF_JOB),
        Without("roles.evaluator", _TOLD_OF_NONE, _DYNAMIC_TF_JOB),
        Without("workload.suspend", "kubeflow.org/v1beta1 cannot suspend; remove it, or take v1", _OLD_TF_JOB),
        Without(
            "workload.tfJob.activeDeadlineSeconds",
            "kubeflow.org/v1beta1 knows none; set deadline, which the pods keep themselves, or take v1",
            _OLD_TF_JOB,
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
            _OLD_TF_JOB,
        ),
        Only(
            "strategy",
            ("ParameterServer",),
            "where workers come and go, each knows the ps alone; remove enableDynamicWorker",
            _DYNAMIC_TF_JOB,
        ),
        Only(
            "workload.tfJob.gang",
            ("PodGroup",),
            "the operator makes one by spec.runPolicy, which kubeflow.org/v1beta1 has not",
            _OLD_TF_JOB,
        ),
        Only(
            "gang.scheduler",
            ("volcano",),
            "the operator makes no PodGroup of another; set workload.tfJob.gang to PodGroup",
            ("workload.tfJob.gang", "Operator"),
        ),
    ),
)

_LED: Final = ("chief", "evaluator")
_PLACES: Final = ("affinity", "nodeSelector", "placement", "spot", "tolerations", "topologySpreadConstraints")
_EXTRAS: Final = (
    "initContainers",
    "podTemplate",
    "runtimeClassName",
    "serviceAccountName",
    "shm",
    "sidecars",
    "workingDir",
)
_ROLE_EXTRAS: Final = (
    "annotations",
    "imagePullPolicy",
    "labels",
    "nodeName",
    "ports",
    "resources.gpu.product",
    "resources.gpu.productLabel",
    "resources.gpu.resource",
    "resources.gpu.share",
    "resources.limits",
    "resources.requests",
    "terminationGracePeriodSeconds",
)
_PARTS_OF_A_MOUNT: Final = ("for", "readOnly", "runs", "subPathExpr")
_OTHER_SOURCES: Final = ("azureFile", "configMap", "csi", "emptyDir", "flexVolume", "nfs", "projected", "secret")

_RELEASES: Final = Only("completion.release", ("ScaleToZero",), "it ends what is left as soon as it is complete")

_PLUGIN: Final = ("workload.volcanoJob.tfConfig", "Plugin")

_VOLCANO_JOB: Final = Facts(
    without=(
        *_NO_FINISHER,
        _WHOLE_BUDGET,
        Without(
            "legacyFlags", "Volcano's plugin knows TF_CONFIG alone; set workload.volcanoJob.tfConfig to Own", _PLUGIN
        ),
        Without("gang.minResources", "Volcano counts them itself; remove it"),
    ),
    only=(
        _RELEASES,
        Only(
            "completion.by",
            ("", "Chief", "AllWorkers"),
            "its TaskCompleted is the end of all tasks of a role; take AllWorkers, a chief, or the kind Job or TFJob",
        ),
        Only("gang.scheduler", ("volcano",), "the job is Volcano's own; say volcano, or take another kind"),
    ),
)

_JOB_SET: Final = Facts(
    without=(*_NO_FINISHER, _WHOLE_BUDGET),
    only=(
        _RELEASES,
        Only(
            "workload.jobSet.startOrder",
            ("Together",),
            "a gang waits for all of its tasks, also for those that would wait for the ps; remove gang, or this",
            ("gang.scheduler", "*"),
        ),
    ),
)

_POD: Final = Facts(
    without=(
        *(each for each in _NO_FINISHER if each.path in ("startDeadline", "completion.image", "tensorboard.keep")),
        Without("completion.onFailure", "a Pod leaves nothing to release; remove it"),
        Without("completion.evaluatorGrace", "a Pod has no evaluator beside it; remove it"),
        Without("retries", "a Pod's container is started again without end; remove it, or take the kind Job"),
        _WHOLE_BUDGET,
    ),
    only=(Only("strategy", ("Single",), "a Pod is one task; take another kind"),),
)

_BY_ARGUMENT: Final = "its master makes the pods; say it by args, which go on to the master"
_OF_ITS_PODS: Final = "its master makes the pods; put it into --cluster_spec_json among args, with the run's labels"
_NONE: Final = "its pods have none; remove it"

_ELASTIC_DL: Final = Facts(
    without=(
        *_NO_FINISHER,
        *(Without(f"roles.{role}", "its master leads the training and evaluates; remove it") for role in _LED),
        Without("roles.worker.priorityClassName", "set workload.elasticDL.workerPriority: high, low or a fraction"),
        Without("roles.worker.runs", "its workers end with the data; remove it"),
        *(Without(f"roles.*.{key}", _BY_ARGUMENT) for key in ("args", "command", "env", "envFrom", "image")),
        *(Without(key, _BY_ARGUMENT) for key in ("command", "env", "envFrom")),
        *(Without(f"{at}{key}", _OF_ITS_PODS) for at in ("", "roles.*.") for key in _PLACES),
        *(Without(f"{at}{key}", _NONE) for at in ("", "roles.*.") for key in _EXTRAS),
        *(Without(f"roles.*.{key}", _NONE) for key in _ROLE_EXTRAS),
        *(Without(f"storage.*.{key}", "all of its pods have the volume, as it is") for key in _PARTS_OF_A_MOUNT),
        *(Without(f"storage.*.{key}", "ElasticDL knows claims and hostPath alone") for key in _OTHER_SOURCES),
        Without("cloud", _OF_ITS_PODS),
        Without("imagePullSecrets", "its pods have the namespace's account default; give it the secret"),
        Without("resumeFrom", "ElasticDL has --checkpoint_dir_for_init among args instead"),
        Without("deadline", "its master would end, and its pods go on; remove it"),
        Without("port", "its ps have 2222 and its workers 3333; remove it"),
        Without("gang", "it begins with the workers that find a place; remove it"),
        Without("podDisruptionBudget", "it replaces the workers that are lost; remove it"),
        Without("tensorboard", "take another job for it, or ElasticDL's --tensorboard_log_dir among args"),
        Without("code", "the master makes pods of the image alone; build it into that"),
        Without("completion.by", "it is done when its workers are; remove it"),
        Without("completion.release", "its master deletes its pods; remove it"),
        _NO_FLAGS,
    ),
    only=(
        Only("strategy", ("ParameterServer",), "its master makes ps and workers; take another kind"),
        Only(
            "security.profile",
            ("baseline", "privileged"),
            "its master gives the pods no security context, which restricted refuses; say baseline",
        ),
    ),
)

FACTS: Final[Mapping[WorkloadKind, Facts]] = {
    "StatefulSet": Facts(),
    "Job": Facts(without=(_WHOLE_BUDGET,)),
    "TFJob": _TF_JOB,
    "VolcanoJob": _VOLCANO_JOB,
    "JobSet": _JOB_SET,
    "Pod": _POD,
    "ElasticDL": _ELASTIC_DL,
}


# -- asking ------------------------------------------------------------------------------------------------------


def of_spec(spec: Mapping[str, Any]) -> WorkloadKind:
    """The kind that a spec asks for."""
    kind: WorkloadKind = said(spec, "workload.kind")
    return kind


def said(spec: Mapping[str, Any], path: str) -> Any:
    """What a spec has at a path: by itself, else by default, else nothing."""
    found = data_path.at(spec, path.split("."))
    if found is not None:
        return found
    node = schema_file.node(schema_file.load(), ("spec", *path.split(".")))
    return node.get("default") if node else None


def without(spec: Mapping[str, Any]) -> Iterator[Without]:
    """All that the spec's kind has no place for."""
    kind = of_spec(spec)
    for path, owners in _OWN.items():
        if kind not in owners:
            yield Without(path, f"only {' and '.join(owners)} {'have' if len(owners) > 1 else 'has'} it; remove it")
    yield from (each for each in FACTS[kind].without if _holds(spec, each.when))


def only(spec: Mapping[str, Any]) -> Iterator[Only]:
    """All of which the spec's kind has a place for some values only."""
    yield from (each for each in FACTS[of_spec(spec)].only if _holds(spec, each.when))


def lacking(spec: Mapping[str, Any], path: Sequence[str | int]) -> str:
    """The way out of what the spec's kind has no place for; empty where it has one."""
    return next((each.way_out for each in without(spec) if covers(each.path.split("."), path)), "")


def _holds(spec: Mapping[str, Any], when: Condition) -> bool:
    if when is None:
        return True
    path, wanted = when
    found = said(spec, path)
    return found is not None if wanted == "*" else found == wanted


def covers(steps: Sequence[str], path: Sequence[str | int]) -> bool:
    """Whether a path with ``*`` for any key stands for another, or for something above it."""
    return len(steps) <= len(path) and all(step in ("*", key) for step, key in zip(steps, path, strict=False))
