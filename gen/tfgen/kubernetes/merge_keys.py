"""The lists of Kubernetes objects that patches merge by a key, such as `containers` by `name`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# The lists with a ``patchMergeKey`` in a PodTemplateSpec and in the metadata of an object
# (staging/src/k8s.io/api/core/v1/types.go of Kubernetes).
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
"""Lists that kustomize 5 replaces instead of merging, because kustomize 5 uses the schema of Kubernetes 1.21."""

# The lists that kustomize merges, with the fields of ``x-kubernetes-list-map-keys`` that identify an item.
KUSTOMIZE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    **{field: (key,) for field, key in MERGE_KEYS.items() if field not in _UNKNOWN_TO_KUSTOMIZE},
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}

SECOND_KEY_FIELDS: Final[Mapping[str, tuple[str, str | None]]] = {
    "ports": ("protocol", "TCP"),
    "topologySpreadConstraints": ("whenUnsatisfiable", None),
}
"""Name of a list -> (field that distinguishes two items with the same merge key, default of the field).

The merge key and this field are the ``x-kubernetes-list-map-keys`` of the list.
"""

_OF_KIND: Final[Mapping[str, Mapping[str, str]]] = {"Service": {"ports": "port"}}
"""Kind -> list -> merge key, for each list outside of pods if a list of the same name in pods has another key."""


def merge_keys(kind: str) -> dict[str, tuple[str, ...]]:
    """Return name of a list -> the only key field of the items, for the lists in a kind that the API server merges."""
    return {field: (key,) for field, key in {**MERGE_KEYS, **_OF_KIND.get(kind, {})}.items()}


def kustomize_keys(kind: str) -> dict[str, tuple[str, ...]]:
    """Return name of a list -> key fields that together identify an item, for the lists that kustomize merges."""
    return {**KUSTOMIZE_KEYS, **{field: (key,) for field, key in _OF_KIND.get(kind, {}).items()}}


TOP_LISTS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "ServiceAccount"): ("secrets",),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): ("webhooks",),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): ("webhooks",),
}
"""(API group, kind) -> top-level lists that patches merge by a key.

The table contains every such list outside metadata and status (``patchMergeKey`` in staging/src/k8s.io/api).
"""

STRATEGIC_GROUPS: Final = ("", "apps", "batch", "networking.k8s.io", "policy", "rbac.authorization.k8s.io")
"""The API groups whose kinds support strategic merge patches. All other kinds use JSON merge patches."""
