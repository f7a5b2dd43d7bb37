"""The labels, annotations and selectors of every object. Their keys stand in `kubernetes.keys`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.graph.holes import (
    Bound,
    ChartOnly,
    Expression,
    Key,
    Let,
    MapOf,
    Merged,
    Name,
    Named,
    Node,
    Splice,
    plain_mapping,
)
from tfgen.graph.objects import names
from tfgen.graph.objects.values import role_value, value
from tfgen.kubernetes.keys import (
    CHART,
    CLUSTER_AUTOSCALER_EVICT,
    COMPONENT,
    INSTANCE,
    ISTIO_INJECT,
    JOB,
    KARPENTER_KEEP,
    LINKERD_INJECT,
    MANAGED_BY,
    NAME,
    OBJECT,
    ROLE,
    RUN,
)

# What installed an object; it says nothing of what the object is.
INSTALLED: Final[Mapping[Key, Node]] = {
    MANAGED_BY: ChartOnly("{{ .Release.Service }}", filled="tfgen"),
    CHART: ChartOnly('{{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}'),
}

_OWNER = Named(
    "owner",
    "The labels that say whose an object is.",
    {NAME: names.NAME, INSTANCE: names.RELEASE, **INSTALLED},
)

_COMMON = Named(
    "labels",
    "The labels of every object.",
    {Splice("owner"): _OWNER, Splice("labels"): value("labels")},
)

LITERAL_LABELS: Final = Bound("labels", "map")
LITERAL_ANNOTATIONS: Final = Bound("annotations", "map")

_RUN_SELECTOR = Named(
    "selector",
    "What selects the pods of one run.",
    {JOB: names.JOB, RUN: value("run")},
)


def metadata(
    name: Node,
    role: str | None = None,
    annotations: Mapping[str, Any] | None = None,
    labels: Mapping[Key, Node] | None = None,
) -> Node:
    """An object's metadata: a role's objects also say the role."""
    users = value("annotations")
    added: dict[Key, Node] = {**({COMPONENT: role} if role else {}), **(labels or {})}
    return {
        "name": name,
        "labels": {Splice("labels"): _COMMON, **added} if added else _COMMON,
        "annotations": {**plain_mapping(annotations), Splice("annotations"): users} if annotations else users,
    }


def literal_metadata(name: Node, key: Node) -> Node:
    """The metadata of an object that stands in job.yaml, with its labels and annotations over the job's.

    Args:
        name: the object's.
        key: its name in job.yaml.
    """
    return {
        "name": name,
        "labels": {Splice("owner"): _OWNER, OBJECT: key, Splice("labels"): LITERAL_LABELS},
        "annotations": LITERAL_ANNOTATIONS,
    }


def has_common_labels(item: Mapping[Key, Node]) -> bool:
    """Whether an object has `metadata`: a pod's is its role's."""
    metadata = item["metadata"]
    node = metadata["labels"] if isinstance(metadata, dict) else None
    return node == _COMMON or (isinstance(node, dict) and node.get(Splice("labels")) == _COMMON)


def tfgen_entries(item: Mapping[Key, Node], field: str) -> dict[Key, Node]:
    """The labels or annotations that tfgen gives an object of `metadata` itself; its labels without those of all."""
    node = _metadata_of(item)[field]
    return {key: inner for key, inner in node.items() if not isinstance(key, Splice)} if isinstance(node, dict) else {}


def with_layers(
    item: Mapping[Key, Node], over_labels: Sequence[Expression], over_annotations: Sequence[Expression]
) -> Node:
    """An object of `metadata` with more labels and annotations, layer upon layer, over those that it has.

    Args:
        item: the object.
        over_labels: maps.
        over_annotations: maps, which may be over tfgen's own annotations.
    """
    changed, whole = {**_metadata_of(item)}, {**item}
    lets: list[tuple[Bound, Expression]] = []
    if over_labels:
        layers = (MapOf({}), value("labels"), *over_labels)
        lets.append((LITERAL_LABELS, Merged(layers)))
        entries = tfgen_entries(item, "labels")
        changed["labels"] = {Splice("owner"): _OWNER, **entries, Splice("labels"): LITERAL_LABELS}
    if over_annotations:
        lowest: dict[Name, Node] = {
            key: node for key, node in tfgen_entries(item, "annotations").items() if isinstance(key, str)
        }
        has_layers = _metadata_of(item)["annotations"] == LITERAL_ANNOTATIONS
        below = LITERAL_ANNOTATIONS if has_layers else value("annotations")
        lets.append((LITERAL_ANNOTATIONS, Merged((MapOf(lowest), below, *over_annotations))))
        changed["annotations"] = LITERAL_ANNOTATIONS
    whole["metadata"] = changed
    node: Node = whole
    for bound, expression in lets:
        node = Let(bound.name, expression, node)
    return node


def _metadata_of(item: Mapping[Key, Node]) -> dict[Key, Node]:
    node = item["metadata"]
    if not isinstance(node, dict):
        raise TypeError(f"no metadata of tfgen's: {node!r}")
    return node


def run_selector() -> Node:
    """What selects every pod of a run."""
    return _RUN_SELECTOR


def role_selector(role: Node) -> Node:
    """What selects the pods of one role of a run."""
    return {Splice("selector"): _RUN_SELECTOR, ROLE: role}


def pod_labels() -> Merged:
    """What `POD_LABELS` is bound to: what tfgen sets unless the user does, under the job's labels and the role's."""
    return Merged((MapOf({ISTIO_INJECT: "false"}), value("labels"), role_value("labels")))


def pod_annotations() -> Merged:
    """What `POD_ANNOTATIONS` is bound to, in the same way."""
    kept = MapOf({CLUSTER_AUTOSCALER_EVICT: "false", KARPENTER_KEEP: "true", LINKERD_INJECT: "disabled"})
    return Merged((kept, value("annotations"), role_value("annotations")))


POD_LABELS: Final = Bound("labels", "map")
POD_ANNOTATIONS: Final = Bound("annotations", "map")
