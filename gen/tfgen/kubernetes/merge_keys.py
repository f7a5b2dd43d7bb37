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

SECOND_KEY_FIELDS: Final[Mapping[str, tuple[str, str | None]]] = {
    "ports": ("protocol", "TCP"),
    "topologySpreadConstraints": ("whenUnsatisfiable", None),
}
"""For some lists, the field that distinguishes two items with the same merge key, and the default of this field.

The merge key and this field are the ``x-kubernetes-list-map-keys`` of the list.
"""

_OF_KIND: Final[Mapping[str, Mapping[str, str]]] = {"Service": {"ports": "port"}}
"""The merge keys of lists outside of pods, for lists whose name in pods has another merge key, by the kind."""


def merge_keys(kind: str) -> dict[str, tuple[str, ...]]:
    """Return the key field of each list that the API server merges in an object of the kind `kind`.

    Example for a Pod: {"containers": ("name",), "ports": ("containerPort",)}. Each list has one key field.
    """
    return {field: (key,) for field, key in {**MERGE_KEYS, **_OF_KIND.get(kind, {})}.items()}


def kustomize_keys(kind: str) -> dict[str, tuple[str, ...]]:
    """Return the key fields of each list that kustomize merges in an object of the kind `kind`.

    Example for a Service: {"containers": ("name",), "ports": ("port", "protocol")}. All key fields together identify an
    item.
    """
    keys = {field: names for field, names in merge_keys(kind).items() if field not in _UNKNOWN_TO_KUSTOMIZE}
    return {**keys, **{field: (*keys[field], second) for field, (second, _) in SECOND_KEY_FIELDS.items()}}


KUSTOMIZE_KEYS: Final[Mapping[str, tuple[str, ...]]] = kustomize_keys("Pod")
"""The lists that kustomize merges in a pod, with the fields that identify an item."""


TOP_LISTS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "ServiceAccount"): ("secrets",),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): ("webhooks",),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): ("webhooks",),
}
"""The top-level lists that patches merge by a key, by the API group and the kind of the object.

The table contains every such list outside metadata and status (``patchMergeKey`` in staging/src/k8s.io/api).
"""

STRATEGIC_GROUPS: Final = ("", "apps", "batch", "networking.k8s.io", "policy", "rbac.authorization.k8s.io")
"""The API groups whose kinds support strategic merge patches. All other kinds use JSON merge patches."""
