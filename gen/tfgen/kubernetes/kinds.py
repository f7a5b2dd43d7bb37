"""The kinds of Kubernetes' own API groups.

>>> find_groups("Deployment")
('apps',)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
    """Return the API groups that have a kind."""
    return tuple(group for group, kinds in KINDS.items() if kind in kinds)
