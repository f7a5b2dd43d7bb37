"""Which lists of Kubernetes merge by a key, and by which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# The lists of a PodTemplateSpec and of the objects around it that merge, by ``patchMergeKey`` in Kubernetes' types
# (staging/src/k8s.io/api/core/v1/types.go).
MERGE_KEYS: Final[Mapping[str, str]] = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumes": "name",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}

# The same, where one key does not tell two items apart: by all of ``x-kubernetes-list-map-keys``, as kustomize does.
LIST_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    **{field: (key,) for field, key in MERGE_KEYS.items()},
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
