"""The lists of Kubernetes that merge by a key, and their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# The lists of a PodTemplateSpec and of the objects around it that merge, by ``patchMergeKey`` in Kubernetes' types
# (staging/src/k8s.io/api/core/v1/types.go).
MERGE_KEYS: Final[Mapping[str, str]] = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "env": "name",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "volumes": "name",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "evictionResponders": "name",
    "ownerReferences": "uid",
}

_UNKNOWN_TO_KUSTOMIZE: Final = ("resourceClaims", "schedulingGates", "evictionResponders")
"""Lists that Kubernetes 1.21 did not have. kustomize 5 contains the schema of 1.21, and replaces these lists."""

# The lists that kustomize merges. Items with one merge key are distinguished by ``x-kubernetes-list-map-keys``.
KUSTOMIZE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    **{field: (key,) for field, key in MERGE_KEYS.items() if field not in _UNKNOWN_TO_KUSTOMIZE},
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}

TOLD_APART: Final[Mapping[str, tuple[str, str | None]]] = {
    "ports": ("protocol", "TCP"),
    "topologySpreadConstraints": ("whenUnsatisfiable", None),
}
"""Lists that may have two items with one merge key: the field that distinguishes them, and the default of the field.

With the merge key, these are ``x-kubernetes-list-map-keys``.
"""

_OF_KIND: Final[Mapping[str, Mapping[str, str]]] = {"Service": {"ports": "port"}}
"""Kind -> the lists whose merge key differs from the list of the same name in a pod."""


def merge_keys(kind: str) -> dict[str, tuple[str, ...]]:
    """Return the lists that Kubernetes merges in an object of a kind, each with the field that identifies its items."""
    return {field: (key,) for field, key in {**MERGE_KEYS, **_OF_KIND.get(kind, {})}.items()}


def kustomize_keys(kind: str) -> dict[str, tuple[str, ...]]:
    """Return the lists that kustomize merges in an object of a kind, each with the fields that identify its items."""
    return {**KUSTOMIZE_KEYS, **{field: (key,) for field, key in _OF_KIND.get(kind, {}).items()}}


TOP_LISTS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "ServiceAccount"): ("secrets",),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): ("webhooks",),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): ("webhooks",),
}
"""Group and kind -> the top-level lists of the object that merge by a key. Apart from metadata and status, the table is
complete (``patchMergeKey`` in staging/src/k8s.io/api).
"""

STRATEGIC_GROUPS: Final = ("", "apps", "batch", "networking.k8s.io", "policy", "rbac.authorization.k8s.io")
"""The groups whose kinds support strategic merge patches. All other kinds use JSON merge patches."""
