"""Records for the keys that a workload kind does not support, and for the properties of the objects of a job."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tfgen.record import Record

WorkloadKind: TypeAlias = Literal["StatefulSet", "Job", "TFJob", "VolcanoJob", "JobSet", "Pod", "ElasticDL"]

CompletionBy: TypeAlias = Literal["Chief", "Worker0", "AllWorkers"]
"""The role or the group of tasks whose end completes a job."""

Condition: TypeAlias = tuple[str, str | bool] | None
"""A condition: (path of a key in the spec, required value of the key). The value ``*`` means any value.

The condition None is always true.
"""


class UnsupportedKey(Record):
    """A key that a job with a certain workload kind cannot set.

    Attributes:
        path: the path of the key in the spec. The step ``*`` means any key.
        why: the reason, and the fix for a job that sets the key.
        when: the condition on the spec under which the job cannot set the key.
    """

    path: str
    why: str
    when: Condition = None


class LimitedKey(Record):
    """A key for which a workload kind supports only some values.

    Attributes:
        path: the path of the key in the spec.
        values: the supported values.
        why: the reason, and the fix for a job that sets another value.
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
        argocd_health: the name of the health check of Argo CD (targets/gitops/health).
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
        unsupported_keys: the keys that a job with this kind cannot set.
        limited_keys: the keys for which the kind supports only some values.
        supported_by_few: the paths of the keys that this kind supports and at least one other kind does not support.
        resource: the custom resource; None if built-in kinds of Kubernetes run the roles.
        controller_keys: the keys of the labels and annotations that controllers set on pods. An item that ends in "/",
            such as "apps.kubernetes.io/", means all keys with this prefix.
        makes_object_per_role: whether each role has a separate object, such as a StatefulSet.
        makes_pods: whether the pod of a role is an object of the job itself, and not created by a controller.
        is_admitted_whole: whether Kueue admits all roles together.
        default_end: the role whose end completes a job by default; None if the default depends on the strategy.
        has_pod_that_calls_api_server: whether a pod of the job, such as the finisher, sends requests to the API server.
        tf_config_setter: the component that may set TF_CONFIG instead of tfgen, and the fix for a job whose chief would
            wait for the evaluator. Example: ``("the plugin tensorflow", "set workload.volcanoJob.tfConfig to Own")``.
            Both texts are empty if only tfgen sets TF_CONFIG, or if the kind does not support an evaluator.
    """

    unsupported_keys: tuple[UnsupportedKey, ...] = ()
    limited_keys: tuple[LimitedKey, ...] = ()
    supported_by_few: tuple[str, ...] = ()
    resource: CustomResource | None = None
    controller_keys: tuple[str, ...] = ()
    makes_object_per_role: bool = False
    makes_pods: bool = False
    is_admitted_whole: bool = False
    default_end: CompletionBy | None = None
    has_pod_that_calls_api_server: bool = False
    tf_config_setter: tuple[str, str] = ("", "")
