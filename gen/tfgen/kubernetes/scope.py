"""Kinds whose objects belong to no namespace: Kubernetes' own, and those of common operators."""

from __future__ import annotations

from typing import Final

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
    )
)
