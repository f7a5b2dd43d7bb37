"""Plain Kubernetes objects: their identity, API group, scope and labels, the kinds of Kubernetes, and size limits.

>>> item = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "mnist-ps"}}
>>> identity(item), group(item), in_namespace(item, "ml")["metadata"]
(('apps/v1', 'StatefulSet', 'mnist-ps'), 'apps', {'name': 'mnist-ps', 'namespace': 'ml'})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from tfgen.kubernetes import keys
from tfgen.record import EMPTY, Record

# -- identity ----------------------------------------------------------------------------------------------------------


Object: TypeAlias = Mapping[str, Any]


def identity(item: Object) -> tuple[str, str, str]:
    """Return the identity of an object within a namespace: API version, kind and name."""
    return item["apiVersion"], item["kind"], item["metadata"]["name"]


def group(item: Object) -> str:
    """Return the API group of an object's kind; empty for the core group."""
    api_version: str = item["apiVersion"]
    return api_version.rpartition("/")[0]


def creation_time(item: Object) -> str:
    """Return the creation time of an object in a cluster as text. In text order, an earlier time comes first."""
    return str(item["metadata"]["creationTimestamp"])


def literal_name(item: Object) -> str | None:
    """Return the key under `objects` in job.yaml that defines an object; None for an object that tfgen generates.

    An object under `objects` may have invalid fields, because tfgen checks only the API version, the kind and the
    metadata.
    """
    labels = (item.get("metadata") or {}).get("labels") or {}
    name: str | None = labels.get(keys.OBJECT)
    return name


# -- scope -------------------------------------------------------------------------------------------------------------


_NAMESPACED_BY_KUSTOMIZE: Final = """ClusterExternalSecret ClusterIssuer ClusterSecretStore DeviceClass FlowSchema
    ImageCache MutatingAdmissionPolicy MutatingAdmissionPolicyBinding PriorityLevelConfiguration
    ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding VolumeAttributesClass"""
NAMESPACED_BY_KUSTOMIZE: Final = frozenset(_NAMESPACED_BY_KUSTOMIZE.split())
"""The cluster-scoped kinds to which kustomize 5 adds the namespace of a kustomization."""

# ``kubectl api-resources --namespaced=false`` of Kubernetes 1.36, and kinds of External Secrets and cert-manager.
_LEFT_BY_KUSTOMIZE: Final = """APIService CSIDriver CertificateSigningRequest ClusterRole ClusterRoleBinding
    CustomResourceDefinition IngressClass MutatingWebhookConfiguration Namespace Node PersistentVolume PriorityClass
    RuntimeClass StorageClass ValidatingWebhookConfiguration"""
CLUSTER_KINDS: Final = NAMESPACED_BY_KUSTOMIZE.union(_LEFT_BY_KUSTOMIZE.split())
"""The cluster-scoped kinds of Kubernetes and of common operators."""


def in_namespace(item: Mapping[str, Any], namespace: str | None) -> Mapping[str, Any]:
    """Return a copy of an object with `metadata.namespace`. A namespace that the object already sets has precedence.

    For an object of a cluster-scoped kind, or for the namespace None, return the unchanged object.
    """
    if namespace is None or item["kind"] in CLUSTER_KINDS:
        return item
    name, *_ = metadata = item["metadata"]
    return {**item, "metadata": {name: metadata[name], "namespace": namespace, **metadata}}


# -- kinds of Kubernetes -----------------------------------------------------------------------------------------------


# `kubectl api-resources` of Kubernetes 1.36, without kinds that never occur in a manifest, such as TokenReview.
KINDS: Final[Mapping[str, frozenset[str]]] = {
    group: frozenset(kinds.split())
    for group, kinds in {
        "": """ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod
            PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount""",
        "admissionregistration.k8s.io": """MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
            MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
            ValidatingWebhookConfiguration""",
        "apiextensions.k8s.io": "CustomResourceDefinition",
        "apiregistration.k8s.io": "APIService",
        "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
        "autoscaling": "HorizontalPodAutoscaler",
        "batch": "CronJob Job",
        "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle PodCertificateRequest",
        "coordination.k8s.io": "Lease LeaseCandidate",
        "discovery.k8s.io": "EndpointSlice",
        "events.k8s.io": "Event",
        "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
        "networking.k8s.io": "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
        "node.k8s.io": "RuntimeClass",
        "policy": "PodDisruptionBudget",
        "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding Role RoleBinding",
        "resource.k8s.io": "DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate ResourceSlice",
        "scheduling.k8s.io": "PodGroup PriorityClass Workload",
        "storage.k8s.io": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass",
    }.items()
}
"""The kinds of each API group, by the name of the group. The name of the core group is empty."""


def find_groups(kind: str) -> tuple[str, ...]:
    """Return the API groups that have a kind.

    >>> find_groups("Deployment")
    ('apps',)
    """
    return tuple(group for group, kinds in KINDS.items() if kind in kinds)


def resource_name(item: Object) -> str:
    """Return the plural name of an object's kind with the API group, as kubectl prints the resource.

    >>> resource_name({"apiVersion": "apps/v1", "kind": "StatefulSet"})
    'statefulsets.apps'
    >>> resource_name({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"})
    'networkpolicies.networking.k8s.io'
    """
    name = item["kind"].lower()
    if name[-1] == "y" and name[-2:-1] not in "aeo":
        name = f"{name[:-1]}ies"
    elif name != "endpoints":
        name += "es" if name[-1] == "s" else "s"
    return f"{name}.{group(item)}".removesuffix(".")


# -- selectors ---------------------------------------------------------------------------------------------------------
#
# https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a LabelSelector matches the labels of an object. An empty selector matches every object."""
    required: Mapping[str, str] = selector.get("matchLabels") or {}
    return required.items() <= labels.items() and meets(selector.get("matchExpressions") or (), labels)


def meets(expressions: Iterable[Mapping[str, Any]], labels: Mapping[str, str]) -> bool:
    """Return whether labels meet all expressions of a selector, including the operators Gt and Lt of node selectors."""
    return all(_holds(expression, labels) for expression in expressions)


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt" | "Lt" as operator:
            try:
                number, (bound,) = int(labels.get(key) or ""), map(int, values)
            except ValueError:  # a value is not a number
                return False
            return number > bound if operator == "Gt" else number < bound
        case _:
            return False


# -- labels of controllers ---------------------------------------------------------------------------------------------
#
# https://kubernetes.io/docs/reference/labels-annotations-taints/


class AddedLabels(Record):
    """Labels that a controller adds to its pods.

    Attributes:
        common: the labels of every pod.
        numbered: one mapping for each pod, with the labels whose values differ between pods. Example for a StatefulSet:
            ({"apps.kubernetes.io/pod-index": "0"}, {"apps.kubernetes.io/pod-index": "1"}). If no label differs, the
            tuple is empty.
        opaque: the keys of labels whose values tfgen cannot predict, such as `pod-template-hash`. All pods of the
            controller have the same values.
        controller: the kind and the name of the controller, such as `StatefulSet mnist-ps`.
    """

    common: Mapping[str, str] = EMPTY
    numbered: tuple[Mapping[str, str], ...] = ()
    opaque: frozenset[str] = frozenset()
    controller: str = ""


def added_labels(owner: Object, count: int) -> AddedLabels:
    """Return the labels that a controller of Kubernetes adds to the pods of an object.

    Args:
        owner: the object that creates the pods, such as a StatefulSet. For an object of an operator, such as a TFJob,
            the result contains no labels.
        count: the number of pods.
    """
    name = owner["metadata"]["name"]
    added = AddedLabels(controller=f"{owner['kind']} {name}")
    match group(owner), owner["kind"]:
        case "apps", "StatefulSet":
            start = (owner["spec"].get("ordinals") or {}).get("start", 0)
            numbered = (
                {keys.STATEFUL_SET_POD: f"{name}-{index}", keys.STATEFUL_SET_INDEX: str(index)}
                for index in range(start, start + count)
            )
            return added.replaced(numbered=tuple(numbered), opaque=frozenset({"controller-revision-hash"}))
        case "apps", "Deployment":
            return added.replaced(opaque=frozenset({"pod-template-hash"}))
        case "apps", "DaemonSet":
            return added.replaced(opaque=frozenset({"controller-revision-hash", "pod-template-generation"}))
        case "batch", "Job":
            is_indexed = owner["spec"].get("completionMode") == "Indexed"
            return added.replaced(
                common=dict.fromkeys(keys.JOB_NAMES, name),
                numbered=tuple({keys.JOB_INDEX: str(index)} for index in range(count)) if is_indexed else (),
                opaque=frozenset({"batch.kubernetes.io/controller-uid", "controller-uid"}),
            )
    return added


# -- size limits of Kubernetes and Linux in bytes ----------------------------------------------------------------------


STRING_MAX: Final = 131_071
"""Maximum size of an argument of a program, or of an environment variable as `NAME=value`.

MAX_ARG_STRLEN of Linux' include/uapi/linux/binfmts.h, 32 pages of 4 KiB, minus the zero byte that ends the string.
"""

PROGRAM_MAX: Final = 2_097_152
"""Maximum total size of the arguments and environment variables of a program, plus `STRING_COST` for each string.

Linux allows a quarter of the maximum stack size (bprm_stack_limits of Linux' fs/exec.c). The maximum stack size in
containers is 8 MiB.
"""

STRING_COST: Final = 9
"""Size that Linux adds for each argument or environment variable: a final zero byte, and a pointer of 8 bytes."""

ANNOTATIONS_MAX: Final = 262_144
"""Maximum total size of all keys and values of an object's annotations.

TotalAnnotationSizeLimitB of Kubernetes' apimachinery/pkg/api/validation/objectmeta.go.
"""

CONFIG_MAP_MAX: Final = 1_048_576
"""Maximum total size of all values of a ConfigMap (MaxSecretSize in Kubernetes' pkg/apis/core/types.go)."""

OBJECT_MAX: Final = 1_572_864
"""Maximum size of an object (DefaultMaxRequestBytes in etcd's server/embed/config.go).

etcd stores the object as protobuf or JSON, with the names of the fields that each field manager set.
"""
