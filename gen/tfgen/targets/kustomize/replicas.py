"""Computes the field ``replicas`` of a kustomization, which changes the numbers of replicas of StatefulSets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from tfgen import data_path
from tfgen.graph.built import Objects
from tfgen.kubernetes.object import Object

_SIZED: Final = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
"""The kinds of objects whose number of replicas kustomize changes by the field ``replicas``."""

_REPLICAS: Final = ("spec", "replicas")


def replica_counts(pairs: Mapping[str, tuple[Object, Object]], overlay: Objects) -> dict[str, int]:
    """Return the new number of replicas of each StatefulSet whose number changes. Example: {"mnist-worker": 4}.

    kustomize finds the objects only by name. So a StatefulSet is omitted if, for example, a Deployment has the same
    name: https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/konfig/builtinpluginconsts/replicas.go
    """
    names = Counter(item["metadata"]["name"] for item in overlay.values() if item["kind"] in _SIZED)
    counts = {
        new["metadata"]["name"]: (_replicas_of(old), _replicas_of(new))
        for old, new in pairs.values()
        if new["kind"] == "StatefulSet"
    }
    return {
        name: new
        for name, (old, new) in counts.items()
        if names[name] == 1 and old is not None and new is not None and old != new
    }


def _replicas_of(item: Object) -> int | None:
    """Return the number of replicas of an object; None if the field is missing or is not an integer."""
    replicas = data_path.at(item, _REPLICAS)
    return replicas if isinstance(replicas, int) and not isinstance(replicas, bool) else None


def with_replicas(item: Object, count: int | None) -> Object:
    """Return a StatefulSet with `count` replicas. If `count` is None or the kind differs, return `item` unchanged."""
    return item if count is None or item["kind"] != "StatefulSet" else data_path.with_value(item, _REPLICAS, count)
