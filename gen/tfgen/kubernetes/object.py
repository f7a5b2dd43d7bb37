"""Plain Kubernetes objects: their identity, their API group and scope, and the kinds of Kubernetes' own API groups.

>>> item = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "mnist-ps"}}
>>> identity(item), group(item), in_namespace(item, "ml")["metadata"]
(('apps/v1', 'StatefulSet', 'mnist-ps'), 'apps', {'name': 'mnist-ps', 'namespace': 'ml'})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from tfgen.kubernetes import keys

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


# ``kubectl api-resources --namespaced=false`` of Kubernetes 1.36; then External Secrets and cert-manager.
CLUSTER_KINDS: Final = frozenset(
    (
        "APIService",
        "CSIDriver",
        "CertificateSigningRequest",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "DeviceClass",
        "FlowSchema",
        "IngressClass",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PriorityClass",
        "PriorityLevelConfiguration",
        "RuntimeClass",
        "StorageClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "VolumeAttributesClass",
        "ClusterExternalSecret",
        "ClusterIssuer",
        "ClusterSecretStore",
        "ImageCache",
    )
)
"""The cluster-scoped kinds of Kubernetes and of common operators."""

NAMESPACED_BY_KUSTOMIZE: Final = frozenset(
    (
        "ClusterExternalSecret",
        "ClusterIssuer",
        "ClusterSecretStore",
        "DeviceClass",
        "FlowSchema",
        "ImageCache",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "PriorityLevelConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "VolumeAttributesClass",
    )
)
"""The cluster-scoped kinds to which kustomize 5 adds the namespace of a kustomization."""


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
