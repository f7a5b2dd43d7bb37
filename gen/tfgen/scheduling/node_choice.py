"""Selects the nodes that a pod may use, by node selectors, taints and volumes. Running pods have no influence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.kubernetes.labels import matches, meets
from tfgen.kubernetes.object import Object
from tfgen.scheduling.cluster import Node

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_NODE_TERMS: Final = ("affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
_KEEPS_AWAY: Final = ("NoSchedule", "NoExecute")
_VOLUME_TERMS: Final = ("spec", "nodeAffinity", "required", "nodeSelectorTerms")
_TOPOLOGY_LABELS: Final[Mapping[str, str]] = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""The keys of labels that bind a volume to a zone or a region. The value is the current key of an old key."""
_ZONES: Final = "__"
"""The separator between two zones in the label of a volume."""


def is_selected(spec: Mapping[str, Any], node: Node) -> bool:
    """Test whether the node selector and the node affinity of a PodSpec select a node.

    https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
    """
    terms: Sequence[Mapping[str, Any]] | None = data_path.at(spec, _NODE_TERMS)
    return matches({"matchLabels": spec.get("nodeSelector")}, node.labels) and (
        terms is None or any(_is_met(term, node) for term in terms)
    )


def untolerated(spec: Mapping[str, Any], node: Node) -> Mapping[str, str] | None:
    """Return the first taint of a node that a PodSpec does not tolerate; None if the PodSpec tolerates all taints.

    Taints with the effect PreferNoSchedule are ignored.
    https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
    """
    tolerations: Sequence[Mapping[str, Any]] = spec.get("tolerations") or ()
    taints = (taint for taint in node.taints if taint.get("effect") in _KEEPS_AWAY)
    return next(
        (taint for taint in taints if not any(_tolerates(toleration, taint) for toleration in tolerations)), None
    )


def is_accessible(volume: Object, node: Node) -> bool:
    """Test whether pods on a node can use a PersistentVolume.

    The result depends on the node affinity, the zone and the region of the volume. The scheduler's plugin VolumeZone
    accepts each node that has no label of a zone or region:
    https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/scheduler/framework/plugins/volumezone/volume_zone.go
    """
    terms: Sequence[Mapping[str, Any]] | None = data_path.at(volume, _VOLUME_TERMS)
    if terms is not None and not any(_meets_volume_term(term, node) for term in terms):
        return False
    if node.labels.keys().isdisjoint(_TOPOLOGY_LABELS):
        return True
    labels: Mapping[str, str] = volume["metadata"].get("labels") or {}
    return all(
        node.labels.get(key, node.labels.get(current)) in labels[key].split(_ZONES)
        for key, current in _TOPOLOGY_LABELS.items()
        if key in labels
    )


def selection(spec: Mapping[str, Any]) -> str:
    """Describe the node selector of a PodSpec, as in "nodes with zone=a and gpu=t4". Without a selector, return ""."""
    parts = [f"{key}={value}" for key, value in (spec.get("nodeSelector") or {}).items()]
    if data_path.at(spec, _NODE_TERMS):
        parts.append("a match for the node affinity")
    return f"nodes with {' and '.join(parts)}" if parts else ""


def refusals(spec: Mapping[str, Any], nodes: Iterable[Node]) -> Iterator[str]:
    """Yield a reason, such as "without zone=a", for each node whose labels or taints exclude the pods of a PodSpec."""
    for node in nodes:
        taint = untolerated(spec, node)
        if not is_selected(spec, node):
            yield selection(spec).replace("nodes with ", "without ", 1)
        elif taint is not None:
            value = f"={taint['value']}" if taint.get("value") else ""
            yield f"with the taint {taint['key']}{value}:{taint['effect']}"


def _meets_volume_term(term: Mapping[str, Any], node: Node) -> bool:
    """Test whether a node meets a term of a volume's node affinity. Kubernetes ignores `matchFields` here."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    return bool(expressions or fields) and meets(expressions, node.labels)


def _is_met(term: Mapping[str, Any], node: Node) -> bool:
    """Test whether a node meets a term of a NodeSelector. An empty term matches no node."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    return (
        bool(expressions or fields) and meets(expressions, node.labels) and meets(fields, {"metadata.name": node.name})
    )


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Test whether a toleration matches a taint.

    The rules are those of the function ToleratesTaint, without the operators Lt and Gt, which are an alpha feature:
    https://github.com/kubernetes/api/blob/v0.36.3/core/v1/toleration.go
    """
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or "")
