"""The workload kinds, such as TFJob: the keys of job.yaml that a kind does not support, and facts about its objects.

    >>> lacking({"workload": {"kind": "Job"}}, ("podDisruptionBudget", "maxUnavailable"))
    'maxUnavailable needs a controller with the subresource scale; remove the key, or use the kind StatefulSet'

The rule `workload-kind` refuses an unsupported field, and the chart has no value for the field (`tunables`). Every kind
supports all remaining fields. A path starts in the spec, may contain ``*`` for any key, and includes all paths below
this path. The objects of each kind are in `graph.workloads`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.fix import Hint, assignment, removal
from tfgen.record import EMPTY, Record
from tfgen.schema import file as schema_file

# -- records -----------------------------------------------------------------------------------------------------------


WorkloadKind: TypeAlias = Literal["StatefulSet", "Job", "TFJob", "VolcanoJob", "JobSet", "Pod", "ElasticDL"]

CompletionBy: TypeAlias = Literal["Chief", "Worker0", "AllWorkers"]
"""The role or the group of tasks whose end completes a job."""

Condition: TypeAlias = tuple[str, str | bool] | None
"""A condition: (path of a key in the spec, required value of the key). The value ``*`` means any value.

The condition None is always true.
"""


class UnusableKey(NamedTuple):
    """The path of a key in the spec that a job cannot set, or of a value without effect, and the reason.

    The step ``*`` of the path means any key.
    """

    path: str
    why: str


class LimitedKey(Record):
    """A key for which a workload kind supports only some values.

    Attributes:
        path: the path of the key in the spec.
        values: the supported values.
        why: the reason, and the fix for a job that sets another value, with the holes of `hint_of`.
        when: the condition on the spec under which only these values are supported.
    """

    path: str
    values: tuple[str, ...]
    why: str
    when: Condition = None


class CustomResource(Record):
    """The custom resource of a workload kind, with the properties that GitOps tools need.

    Attributes:
        group: the API group.
        kind: the kind in Kubernetes.
        completed: a CEL expression that is true for a completed object.
        failed: a CEL expression that is true for a failed object.
        argocd_health: the name of the health check of Argo CD (targets/health).
        suspend: the JSON pointer of the field that suspends the object; empty without such a field.
        free: the paths, below the spec of the object, of the fields that may change during a run.
    """

    group: str
    kind: str
    completed: str
    failed: str
    argocd_health: str
    suspend: str = ""
    free: tuple[str, ...] = ()


class Facts(Record):
    """The keys of job.yaml that a workload kind does not support, and the properties of the objects of the kind.

    Attributes:
        unsupported_keys: the keys that a job with this kind cannot set under a condition on the spec: for each path the
            reason, and the fix for a job that sets the key, with the holes of `hint_of`.
        limited_keys: the keys for which the kind supports only some values.
        resource: the custom resource; None if built-in kinds of Kubernetes run the roles.
        controller_keys: the keys of the labels and annotations that controllers set on pods. An item that ends in "/",
            such as "apps.kubernetes.io/", means all keys with this prefix.
        makes_object_per_role: whether each role has a separate object, such as a StatefulSet.
        makes_pods: whether the pod of a role is an object of the job itself, and not created by a controller.
        is_admitted_whole: whether Kueue admits all roles together.
        default_end: the role whose end completes a job by default; None if the default depends on the strategy.
        has_pod_that_calls_api_server: whether a pod of the job, such as the finisher, sends requests to the API server.
        tf_config_setter: the component that may set TF_CONFIG instead of tfgen, and the fix for a job whose chief would
            wait for the evaluator. Example: ``("the plugin tensorflow", "{own}")``.
            Both texts are empty if only tfgen sets TF_CONFIG, or if the kind does not support an evaluator.
        index_variables: the variables with the index of the task that the controller appends to those of a container.
    """

    unsupported_keys: Mapping[Condition, Mapping[str, str]] = EMPTY
    limited_keys: tuple[LimitedKey, ...] = ()
    resource: CustomResource | None = None
    controller_keys: tuple[str, ...] = ()
    makes_object_per_role: bool = False
    makes_pods: bool = False
    is_admitted_whole: bool = False
    default_end: CompletionBy | None = None
    has_pod_that_calls_api_server: bool = False
    tf_config_setter: tuple[str, str] = ("", "")
    index_variables: tuple[str, ...] = ()


# -- keys of pods -----------------------------------------------------------------------------------------------------
#
# The keys of job.yaml with the name of a field in the spec of a pod.


COPIED: Final = (
    "priorityClassName",
    "runtimeClassName",
)
"""The keys whose unchanged values tfgen copies to the pods. The job and each role have these keys.

An empty value omits the field. The pod template builds the fields of all other keys of pods from several keys.
"""

POD_KEYS: Final = (
    *COPIED,
    "serviceAccountName",
    "nodeName",
    "nodeSelector",
    "tolerations",
    "affinity",
    "topologySpreadConstraints",
    "imagePullSecrets",
    "terminationGracePeriodSeconds",
)
"""The keys of pods, in the order of the fields in a pod.

The pod templates, the import, the rule `controlled-field`, the guard rail `enforce` and the workload kind ElasticDL
read this table. So a new key that is copied needs only a line in `COPIED`, and its schema.
"""

ONLY_OF_ROLES: Final = ("nodeName", "terminationGracePeriodSeconds")
"""The keys of pods that only a role has. The job has each other key, as the default for its roles."""


# -- shared ------------------------------------------------------------------------------------------------------------


_NO_FINISHER: Final = {
    "startDeadline": "a job of this workload kind has no finisher, and only the finisher checks that all tasks start "
    "in time; {removed}",
    "completion.onFailure": "the operator also releases a failed job; {removed}",
    "completion.evaluatorGrace": "the operator stops the evaluator when the job ends; {removed}",
    "completion.image": "a job of this workload kind has no finisher; {removed}",
    "completion.notify": "a job of this workload kind has no finisher, and only the finisher sends notifications; "
    "{removed}",
    "tensorboard.keep": "a job of this workload kind has no finisher, and only the finisher scales TensorBoard down; "
    "{removed}",
}
_LEGACY: Final = ("legacyFlags", "legacyVariables")
"""The fields that pass role, index and hosts to programs of TensorFlow 1."""
_NO_LEGACY: Final = dict.fromkeys(
    _LEGACY, "the tasks of this workload kind read TF_CONFIG; use the kind StatefulSet or Job"
)
_NO_WHOLE_BUDGET: Final = {
    "podDisruptionBudget.maxUnavailable": "maxUnavailable needs a controller with the subresource scale; {removed}, "
    "or use the kind StatefulSet",
}
# For kinds whose controller ends the remaining tasks.
_RELEASES: Final = LimitedKey(
    "completion.release", ("ScaleToZero",), "the controller ends the remaining tasks when the job is complete"
)


def _only_tf_config_strategies(setter: str, fix: str, when: Condition = None) -> LimitedKey:
    """Return the limit of the key `strategy` to the strategies whose programs read TF_CONFIG.

    The limit is for a workload kind in which a component other than tfgen sets TF_CONFIG, such as the training
    operator. The component sets only TF_CONFIG. The limit excludes the strategy KerasDistribution, because
    keras.distribution reads other variables.

    Args:
        setter: the component that sets TF_CONFIG, in words, such as "the operator".
        fix: the fix for a job with another strategy.
        when: the condition on the spec under which the component sets TF_CONFIG.
    """
    strategies = ("ParameterServer", "MultiWorkerMirrored", "Single")
    return LimitedKey("strategy", strategies, f"{setter} sets only TF_CONFIG, which the strategy ignores; {fix}", when)


# Set by the controllers on their pods: https://kubernetes.io/docs/reference/labels-annotations-taints/
_JOB_KEYS: Final = ("batch.kubernetes.io/", "controller-uid", "job-name")


# -- stateful set ------------------------------------------------------------------------------------------------------
#
# Each role is a StatefulSet, or an Indexed Job if the tasks of the role exit by themselves.


_STATEFUL_SET: Final = Facts(
    controller_keys=("statefulset.kubernetes.io/", "apps.kubernetes.io/", "controller-revision-hash", *_JOB_KEYS),
    makes_object_per_role=True,
    has_pod_that_calls_api_server=True,
)


# -- job ---------------------------------------------------------------------------------------------------------------
#
# tfgen runs each role as an Indexed Job of Kubernetes.


_JOB: Final = Facts(
    unsupported_keys={None: _NO_WHOLE_BUDGET},
    controller_keys=_JOB_KEYS,
    makes_object_per_role=True,
    has_pod_that_calls_api_server=True,
    index_variables=("JOB_COMPLETION_INDEX",),
)


# -- tf job ------------------------------------------------------------------------------------------------------------
#
# tfgen runs all roles as one TFJob of the Kubeflow training operator.


_OLD: Final = ("workload.tfJob.apiVersion", "v1beta1")
_DYNAMIC: Final = ("workload.tfJob.enableDynamicWorker", True)
_OPERATOR_GANGS: Final = ("workload.tfJob.gang", "Operator")

_TF_JOB: Final = Facts(
    unsupported_keys={
        None: {
            **_NO_FINISHER,
            **_NO_LEGACY,
            **_NO_WHOLE_BUDGET,
            "restart.inPlace": "the operator replaces each failed pod; use the kind Job, JobSet or StatefulSet",
            "restart.ignoreExitCodes": "the operator counts every failure as a retry; use the kind Job, JobSet or "
            "StatefulSet",
        },
        _OLD: {
            "retries": "kubeflow.org/v1beta1 does not limit retries; {removed}, or use v1",
            "workload.tfJob.enableDynamicWorker": "kubeflow.org/v1beta1 does not have this field; {removed}, or use v1",
            "workload.suspend": "kubeflow.org/v1beta1 cannot suspend a job; {removed}, or use v1",
            "workload.tfJob.activeDeadlineSeconds": "kubeflow.org/v1beta1 does not have this field; set deadline, "
            "which applies to the pods, or use v1",
        },
        _DYNAMIC: dict.fromkeys(
            ("roles.chief", "roles.evaluator"),
            "with dynamic workers, the operator passes no addresses of tasks to this role; {removed}, or {static}",
        ),
        _OPERATOR_GANGS: {
            "gang.schedulerName": "a flag of the operator sets the name of the scheduler; {removed}, or {pod_group}",
            "gang.networkTopology": "the operator creates a PodGroup without this field; {pod_group}",
        },
    },
    limited_keys=(
        _only_tf_config_strategies("the operator", "use the kind StatefulSet, Job, JobSet or VolcanoJob"),
        LimitedKey(
            "gang.scheduler",
            ("volcano", "kube-batch", "coscheduling", "kai", "koordinator", "kueue"),
            "this scheduler needs the field schedulingGroup of the pods, but the CRD of TFJob drops the field; use the "
            "kind Job",
        ),
        LimitedKey("completion.by", ("", "Chief", "Worker0"), "kubeflow.org/v1beta1 has no successPolicy; {v1}", _OLD),
        LimitedKey(
            "strategy",
            ("ParameterServer",),
            "dynamic workers receive only the addresses of the ps; {static}",
            _DYNAMIC,
        ),
        LimitedKey(
            "workload.tfJob.gang",
            ("PodGroup",),
            "the operator creates a PodGroup from spec.runPolicy, which kubeflow.org/v1beta1 does not have; "
            "{pod_group}, or {v1}",
            _OLD,
        ),
        LimitedKey(
            "gang.scheduler",
            ("volcano",),
            "the operator itself creates a PodGroup only for Volcano; {pod_group}, so that tfgen renders the PodGroup",
            _OPERATOR_GANGS,
        ),
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


# -- volcano job -------------------------------------------------------------------------------------------------------
#
# tfgen runs all roles as one Job of Volcano (batch.volcano.sh).


_PLUGIN: Final = ("workload.volcanoJob.tfConfig", "Plugin")

_VOLCANO_JOB: Final = Facts(
    unsupported_keys={
        None: {
            **_NO_FINISHER,
            **_NO_WHOLE_BUDGET,
            "restart.inPlace": "Volcano always restarts a failed program in the same pod; {removed}",
            "restart.ignoreExitCodes": "Volcano restarts a failed program in the same pod and counts no retry; "
            "{removed}, or use the kind JobSet",
            "gang.minResources": "Volcano computes the resources of the gang; {removed}",
            "gang.networkTopology": "a VolcanoJob has this setting in workload.volcanoJob.networkTopology; {removed}",
        },
        _PLUGIN: dict.fromkeys(_LEGACY, "the plugin of Volcano sets only TF_CONFIG; {own}"),
    },
    limited_keys=(
        _RELEASES,
        _only_tf_config_strategies("the plugin of Volcano", "{own}", _PLUGIN),
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
    tf_config_setter=("the plugin tensorflow", "{own}"),
    index_variables=("VC_TASK_INDEX", "VK_TASK_INDEX"),
)


# -- job set -----------------------------------------------------------------------------------------------------------
#
# tfgen runs all roles as one JobSet. The controller of the JobSet creates a Job for each role.


_JOB_SET: Final = Facts(
    unsupported_keys={None: _NO_FINISHER | _NO_WHOLE_BUDGET},
    limited_keys=(
        _RELEASES,
        LimitedKey(
            "workload.jobSet.startOrder",
            ("Together",),
            "a gang starts all tasks together, but this order starts the ps first; remove gang or startOrder",
            ("gang.scheduler", "*"),
        ),
    ),
    resource=CustomResource(
        group="jobset.x-k8s.io",
        kind="JobSet",
        completed="status.conditions.exists(c, c.type == 'Completed' && c.status == 'True')",
        failed="status.conditions.exists(c, c.type == 'Failed' && c.status == 'True')",
        argocd_health="jobset",
        suspend="/spec/suspend",
        free=("suspend", "ttlSecondsAfterFinished"),
    ),
    controller_keys=("jobset.sigs.k8s.io/", *_JOB_KEYS),
    is_admitted_whole=True,
    index_variables=("JOB_COMPLETION_INDEX",),
)


# -- pod ---------------------------------------------------------------------------------------------------------------
#
# tfgen runs a single task in a Pod without a controller.


_POD: Final = Facts(
    unsupported_keys={
        None: {
            **_NO_FINISHER,
            **_NO_WHOLE_BUDGET,
            "completion.onFailure": "a failed Pod has nothing to release; {removed}",
            "completion.evaluatorGrace": "a Pod has no evaluator; {removed}",
            "restart.inPlace": "the kubelet always restarts a failed container in the same pod; {removed}",
            **dict.fromkeys(
                ("restart.ignoreExitCodes", "retries"),
                "the kubelet restarts a failed container without limit; {removed}, or use the kind Job",
            ),
        },
    },
    makes_pods=True,
    limited_keys=(LimitedKey("strategy", ("Single",), "a Pod has one task; use the kind StatefulSet, Job or JobSet"),),
)


# -- elastic dl --------------------------------------------------------------------------------------------------------
#
# The job creates the pod of the master, and the master creates the pods of ps and workers.


_BY_ARGUMENT: Final = "the master creates the pods; pass the setting in args, which the master reads"
_BY_CLUSTER_SPEC: Final = (
    "the master creates the pods; pass the setting and the labels of the run with --cluster_spec_json in args"
)
_NOT_IN_PODS: Final = "the pods of ElasticDL do not support this field; {removed}"
_PLACES: Final = ("affinity", "nodeSelector", "placement", "spot", "tolerations", "topologySpreadConstraints")
_EXTRAS: Final = (
    "initContainers",
    "podTemplate",
    *(key for key in COPIED if key != "priorityClassName"),
    *("serviceAccountName", "shm", "sidecars", "workingDir"),
)
_EXTRAS_OF_ROLES: Final = (
    *("annotations", "imagePullPolicy", "labels", "nodeName", "ports", "terminationGracePeriodSeconds"),
    *(f"resources.gpu.{key}" for key in ("deviceClass", "product", "productLabel", "resource", "selectors", "share")),
    *("resources.limits", "resources.requests"),
)
_REFUSED_SOURCES: Final = (
    *("azureFile", "configMap", "csi", "emptyDir", "flexVolume", "image", "nfs", "projected", "secret"),
)

_ELASTIC_DL: Final = Facts(
    unsupported_keys={
        None: {
            **_NO_FINISHER,
            "roles.chief": "the master leads the training and evaluates the model; {removed}",
            "roles.evaluator": "the master leads the training and evaluates the model; {removed}",
            "roles.worker.priorityClassName": "set workload.elasticDL.workerPriority to high, low or a fraction",
            "roles.worker.runs": "the workers end when the data ends; {removed}",
            **{f"roles.*.{key}": _BY_ARGUMENT for key in ("args", "command", "env", "envFrom", "image")},
            **dict.fromkeys(("command", "env", "envFrom"), _BY_ARGUMENT),
            **{f"{parent}{key}": _BY_CLUSTER_SPEC for parent in ("", "roles.*.") for key in _PLACES},
            **{f"{parent}{key}": _NOT_IN_PODS for parent in ("", "roles.*.") for key in _EXTRAS},
            **{f"roles.*.{key}": _NOT_IN_PODS for key in _EXTRAS_OF_ROLES},
            **{
                f"storage.*.{key}": "every pod of ElasticDL mounts the whole volume; {removed}"
                for key in ("for", "readOnly", "runs", "subPathExpr")
            },
            **{
                f"storage.*.{source}": "ElasticDL supports only the volume sources claim and hostPath; use claim or "
                "hostPath"
                for source in _REFUSED_SOURCES
            },
            "cloud": _BY_CLUSTER_SPEC,
            "imagePullSecrets": "the pods use the service account default of the namespace; add the secret to this "
            "service account",
            "resumeFrom": "use --checkpoint_dir_for_init in args",
            "serviceAccount": "the pods use the service account default; {removed}, or use the kind Job",
            "deadline": "the deadline would end the master, but not the pods of the master; {removed}",
            "restart.inPlace": "the master replaces each failed pod; use the kind Job, JobSet or StatefulSet",
            "restart.ignoreExitCodes": "the master counts every failure as a retry; use the kind Job, JobSet or "
            "StatefulSet",
            "lockWait": "the pods have no deadline; {removed}",
            "helpers": "tfgen adds no helper container to the pods; {removed}",
            "port": "the ps use port 2222 and the workers use port 3333; {removed}",
            "gang": "ElasticDL starts with the workers that can be scheduled; {removed}",
            "podDisruptionBudget": "the master replaces lost workers; {removed}",
            "tensorboard": "tfgen creates no TensorBoard for ElasticDL; set --tensorboard_log_dir in args, or set "
            "tensorboard in a separate job",
            "code": "the master creates pods without a volume for code; add the code to the image",
            "completion.by": "the job ends when all workers end; {removed}",
            "completion.release": "the master deletes the pods at the end of the job; {removed}",
            **_NO_LEGACY,
        },
    },
    limited_keys=(
        LimitedKey(
            "strategy", ("ParameterServer",), "the master creates only ps and workers; use the kind Job or JobSet"
        ),
        LimitedKey(
            "security.profile",
            ("baseline", "privileged"),
            "the master creates pods without a security context, which the profile restricted refuses; "
            "set security.profile to baseline",
        ),
    ),
    default_end="AllWorkers",
    has_pod_that_calls_api_server=True,
)


# -- all kinds ---------------------------------------------------------------------------------------------------------


WORKLOAD_KINDS: Final[tuple[WorkloadKind, ...]] = get_args(WorkloadKind)

FACTS: Final[Mapping[WorkloadKind, Facts]] = {
    "StatefulSet": _STATEFUL_SET,
    "Job": _JOB,
    "TFJob": _TF_JOB,
    "VolcanoJob": _VOLCANO_JOB,
    "JobSet": _JOB_SET,
    "Pod": _POD,
    "ElasticDL": _ELASTIC_DL,
}

_OWNERS: Final[Mapping[str, tuple[WorkloadKind, ...]]] = {
    "workload.suspend": ("TFJob", "JobSet"),
    "workload.ttlSecondsAfterFinished": ("TFJob", "VolcanoJob", "JobSet"),
    "workload.tfJob": ("TFJob",),
    "roles.*.restartPolicy": ("TFJob",),
    "workload.volcanoJob": ("VolcanoJob",),
    "workload.jobSet": ("JobSet",),
    "workload.elasticDL": ("ElasticDL",),
}
"""The workload kinds that support each key, for the keys that only some workload kinds support."""

RESOURCES: Final[Mapping[tuple[str, str], CustomResource]] = {
    (facts.resource.group, facts.resource.kind): facts.resource for facts in FACTS.values() if facts.resource
}
"""The custom resources by API group and kind, such as ``("kubeflow.org", "TFJob")``."""


def of_spec(spec: Mapping[str, Any]) -> WorkloadKind:
    """Return the workload kind of a spec."""
    kind: WorkloadKind = value_of(spec, "workload.kind")
    return kind


def value_of(spec: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path of a spec. For a missing value, return the default of the schema.

    Without a default, return None.
    """
    value = data_path.at(spec, path.split("."))
    return _default(path) if value is None else value


@functools.cache
def _default(path: str) -> Any:
    return (schema_file.node(schema_file.load(), ("spec", *path.split("."))) or {}).get("default")


def unsupported_keys(spec: Mapping[str, Any]) -> Iterator[UnusableKey]:
    """Yield the keys that a job with this spec cannot set, because the workload kind does not support the keys.

    The reasons have the holes of `hint_of`.
    """
    kind = of_spec(spec)
    for path, owners in _OWNERS.items():
        if kind not in owners:
            verb = "support" if len(owners) > 1 else "supports"
            yield UnusableKey(path, f"only {' and '.join(owners)} {verb} this key; {{removed}}")
    for condition, reasons in FACTS[kind].unsupported_keys.items():
        if _holds(spec, condition):
            yield from (UnusableKey(path, why) for path, why in reasons.items())


_OTHER_FIXES: Final = {
    "{own}": assignment(("workload", "volcanoJob", "tfConfig"), "Own", "set workload.volcanoJob.tfConfig to Own"),
    "{pod_group}": assignment(("workload", "tfJob", "gang"), "PodGroup", "set workload.tfJob.gang to PodGroup"),
    "{static}": removal(("workload", "tfJob", "enableDynamicWorker"), "enableDynamicWorker"),
    "{v1}": assignment(("workload", "tfJob", "apiVersion"), "v1", "set workload.tfJob.apiVersion to v1"),
}


def hint_of(why: str, path: Path) -> Hint:
    """Return the hint for a key or a value that the workload kind does not support.

    Args:
        why: the reason, with a hole for each fix: `{removed}` removes the key, the other holes are in `_OTHER_FIXES`.
            Words after the last hole are an alternative, so that only the user can decide.
        path: the path of the key in the spec.
    """
    fixes = []
    text = why
    for hole, fix in {"{removed}": removal(path), **_OTHER_FIXES}.items():
        if hole in why:
            fixes.append(fix._replace(is_choice=not why.endswith(hole)))
            text = text.replace(hole, fix.words)
    return Hint(text, tuple(fixes))


def limited_keys(spec: Mapping[str, Any]) -> Iterator[LimitedKey]:
    """Yield each key, such as `strategy`, for which the workload kind of a job supports only some values."""
    yield from (key for key in FACTS[of_spec(spec)].limited_keys if _holds(spec, key.when))


def lacking(spec: Mapping[str, Any], path: Sequence[str | int]) -> str:
    """Return the reason why the workload kind does not support the key at `path`, and the fix; empty if supported."""
    why = next((key.why for key in unsupported_keys(spec) if covers(key.path.split("."), path)), "")
    return hint_of(why, tuple(path)).text


def _holds(spec: Mapping[str, Any], when: Condition) -> bool:
    if when is None:
        return True
    path, required_value = when
    value = value_of(spec, path)
    return value is not None if required_value == "*" else value == required_value


def covers(steps: Sequence[str], path: Sequence[str | int]) -> bool:
    """Test whether the pattern `steps` matches `path` or a parent of `path`. The step ``*`` matches any key."""
    return len(steps) <= len(path) and all(step in ("*", key) for step, key in zip(steps, path, strict=False))


# -- the completion of a job -------------------------------------------------------------------------------------------


EQUAL_WORKERS: Final = ("MultiWorkerMirrored", "KerasDistribution")
"""The strategies whose workers are equal. Worker 0 coordinates the workers."""


def default_end(strategy: str | None) -> CompletionBy:
    """Return the default of `completion.by` for a strategy.

    The default is "Worker0" for a strategy with equal workers, and "Chief" for each other strategy.
    """
    return "Worker0" if strategy in EQUAL_WORKERS else "Chief"


def ended_by(spec: Mapping[str, Any]) -> CompletionBy:
    """Return the name of the tasks whose end completes the job: "Chief", "Worker0" or "AllWorkers".

    The name is the value of `completion.by`. If the job does not set `completion.by`, the name is the default of the
    workload kind. If the workload kind has no default, the name is the default of the strategy.
    """
    by: CompletionBy | None = spec.get("completion", {}).get("by") or FACTS[of_spec(spec)].default_end
    return by or default_end(spec.get("strategy"))


def releases(spec: Mapping[str, Any]) -> bool:
    """Test whether tfgen releases the tasks that still run when the job is complete."""
    return bool(value_of(spec, "completion.release") == "ScaleToZero")


def serves(spec: Mapping[str, Any], role: str) -> bool:
    """Test whether the tasks of a role run until the job is complete, instead of exiting by themselves.

    Return True for ps. Return True for workers if the end of the chief completes the job, and the workers have the
    default ``runs: Serving``. Return False for all other tasks.
    """
    if role == "worker":
        return ended_by(spec) == "Chief" and spec["roles"]["worker"].get("runs", "Serving") == "Serving"
    return role == "ps"


# -- keys of gang ------------------------------------------------------------------------------------------------------


GangField: TypeAlias = Literal[
    "apiVersion",
    "disruption",
    "minAvailable",
    "minResources",
    "networkTopology.highestTierAllowed",
    "networkTopology.highestTierName",
    "networkTopology.mode",
    "preferredTopology",
    "priorityClassName",
    "queue",
    "requiredTopology",
    "scheduleTimeoutSeconds",
]
"""The path of a key below ``gang`` that not every scheduler uses."""

GANG_FIELDS: Final[Mapping[str, frozenset[GangField]]] = {
    "volcano": frozenset(
        (
            *("minAvailable", "minResources", "priorityClassName", "queue"),
            *("networkTopology.highestTierAllowed", "networkTopology.highestTierName", "networkTopology.mode"),
        )
    ),
    "kube-batch": frozenset(("minAvailable", "priorityClassName", "queue")),
    "coscheduling": frozenset(("minAvailable", "minResources", "scheduleTimeoutSeconds")),
    "kai": frozenset(("minAvailable", "priorityClassName", "queue")),
    "koordinator": frozenset(("minAvailable", "scheduleTimeoutSeconds")),
    "kubernetes": frozenset(("apiVersion", "disruption", "minAvailable", "priorityClassName", "requiredTopology")),
    "kueue": frozenset(("preferredTopology", "priorityClassName", "queue", "requiredTopology")),
}
"""The keys of ``gang`` that each scheduler uses, without the keys that all schedulers use."""


# -- idle values -------------------------------------------------------------------------------------------------------
#
# An idle value has no effect, because no object of the job depends on the value. A job may set an idle value, because
# layers set the same defaults for all jobs. The rule `idle-value` warns of idle values.


def idle_values(spec: Mapping[str, Any]) -> Iterator[UnusableKey]:
    """Yield each value that has no effect in a job, with the reason.

    Some of these values are also values that the workload kind does not support.
    """
    roles, kind = spec["roles"], of_spec(spec)
    if "evaluator" not in roles:
        yield UnusableKey("completion.evaluatorGrace", "the job has no evaluator")
    elif not releases(spec):
        why = "completion.release is Keep, so the evaluator is not ended"
        yield UnusableKey("completion.evaluatorGrace", why)
    ends = "chief" if ended_by(spec) == "Chief" else "worker"
    if not releases(spec):
        yield UnusableKey("completion.onFailure", "completion.release is Keep, so no task is released")
    elif not roles.keys() - {ends} and "tensorboard" not in spec:
        yield UnusableKey("completion.onFailure", "one Job runs all tasks, so no task remains after the end of the Job")
    if kind == "StatefulSet" and not any(serves(spec, role) for role in roles):  # only serving roles use it
        why = "every role runs as a Job, whose tasks may not be evicted"
        yield UnusableKey("podDisruptionBudget.maxUnavailable", why)
    if not FACTS[kind].has_pod_that_calls_api_server:
        yield UnusableKey("network.egress.apiServer", f"no pod of a {kind} sends requests to the API server")
    if "gang" in spec:
        scheduler = spec["gang"]["scheduler"]
        for field in get_args(GangField):
            if field not in GANG_FIELDS[scheduler]:
                yield UnusableKey(f"gang.{field}", f"the scheduler {scheduler} does not support {field}")
        if spec.get("strategy", "ParameterServer") != "ParameterServer":
            yield UnusableKey("gang.minAvailable", "the job has only equal workers, which start together")
