"""Cluster-scoped and namespaced kinds.

>>> in_namespace({"kind": "Service", "metadata": {"name": "a"}}, "ml")
{'kind': 'Service', 'metadata': {'name': 'a', 'namespace': 'ml'}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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
