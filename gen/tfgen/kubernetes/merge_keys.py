"""Which lists of Kubernetes merge by a key, and by which."""

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
"""Those that Kubernetes had not yet in 1.21, whose schema kustomize 5 has within it: it takes them whole."""

# The lists that kustomize merges. Where one key does not tell two items apart, it goes by all of
# ``x-kubernetes-list-map-keys``.
KUSTOMIZE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    **{field: (key,) for field, key in MERGE_KEYS.items() if field not in _UNKNOWN_TO_KUSTOMIZE},
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}

TOLD_APART: Final[Mapping[str, tuple[str, str | None]]] = {
    "ports": ("protocol", "TCP"),
    "topologySpreadConstraints": ("whenUnsatisfiable", None),
}
"""The lists that may have two items of one merge key, each with the field that tells those apart, and its default.

With the merge key, these are ``x-kubernetes-list-map-keys``.
"""

_OF_KIND: Final[Mapping[str, Mapping[str, str]]] = {"Service": {"ports": "port"}}
"""By kind, the lists that merge by another key than the list of the same name in a pod."""


def merge_keys(kind: str) -> dict[str, tuple[str, ...]]:
    """The lists that Kubernetes merges in an object of a kind, each with the field that tells its items apart."""
    return {field: (key,) for field, key in {**MERGE_KEYS, **_OF_KIND.get(kind, {})}.items()}


def kustomize_keys(kind: str) -> dict[str, tuple[str, ...]]:
    """The lists that kustomize merges in an object of a kind, each with the fields that tell its items apart."""
    return {**KUSTOMIZE_KEYS, **{field: (key,) for field, key in _OF_KIND.get(kind, {}).items()}}


TOP_LISTS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "ServiceAccount"): ("secrets",),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): ("webhooks",),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): ("webhooks",),
}
"""By group and kind, the lists that merge by a key and stand in the object itself. Metadata and status aside, these are
all (``patchMergeKey`` in staging/src/k8s.io/api)."""

STRATEGIC_GROUPS: Final = ("", "apps", "batch", "networking.k8s.io", "policy", "rbac.authorization.k8s.io")
"""The groups whose kinds are patched strategically. Any other kind is patched as plain JSON."""
