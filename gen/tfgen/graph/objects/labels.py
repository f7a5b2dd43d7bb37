"""The labels, annotations and selectors of all objects of a job. `kubernetes.keys` defines the keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tfgen.graph.holes import (
    Bound,
    ChartOnly,
    Comment,
    Expression,
    Key,
    Let,
    MapOf,
    Merged,
    Name,
    NamedTemplate,
    Node,
    Splice,
    plain_mapping,
)
from tfgen.graph.objects import names
from tfgen.graph.objects.values import role_value, value
from tfgen.kubernetes import keys
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

BEFORE_PODS: Final[Mapping[Key, Node]] = {
    Comment(
        "Argo CD applies the objects of this sync wave before the pods, which need the objects at their start."
    ): None,
    **plain_mapping(keys.BEFORE_PODS),
}
"""The annotation with an early sync wave of Argo CD, for an object that must exist before the pods."""

KEEP: Final[Mapping[Key, Node]] = {
    Comment(
        "Argo CD, Flux and Helm keep the claim when they delete the job. IgnoreExtraneous lets Argo CD show the job as "
        "synced while the claim remains."
    ): None,
    **plain_mapping(keys.KEEP),
}
"""The annotations that keep a claim when the job is deleted."""

UNDISTURBED: Final = Comment(
    "The annotations safe-to-evict and do-not-disrupt keep the pod on its node, because a task that an autoscaler "
    "moves loses its work. A mesh sidecar is disabled, because a Job with such a sidecar never completes."
)

# The labels of the chart and the Helm release, which are not part of a selector.
INSTALLED: Final[Mapping[Key, Node]] = {
    MANAGED_BY: ChartOnly("{{ .Release.Service }}", filled="tfgen"),
    CHART: ChartOnly('{{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}'),
}

_OWNER = NamedTemplate(
    "owner",
    "The labels of the chart and the Helm release.",
    {NAME: names.NAME, INSTANCE: names.RELEASE, **INSTALLED},
)

_COMMON = NamedTemplate(
    "labels",
    "The labels of every object.",
    {Splice("owner"): _OWNER, Splice("labels"): value("labels")},
)

LITERAL_LABELS: Final = Bound("labels", "map")
LITERAL_ANNOTATIONS: Final = Bound("annotations", "map")

_RUN_LABELS: Final[Mapping[str, Node]] = {JOB: names.JOB, RUN: value("run")}
_RUN_SELECTOR = NamedTemplate("selector", "The selector of the pods of a run.", dict(_RUN_LABELS.items()))


def metadata(
    name: Node,
    role: str | None = None,
    annotations: Mapping[Key, Node] | None = None,
    labels: Mapping[Key, Node] | None = None,
) -> Node:
    """Return the metadata of an object.

    Args:
        name: the name of the object.
        role: the role, for an object that belongs to a role.
        annotations: annotations that tfgen sets.
        labels: additional labels.
    """
    job_annotations = value("annotations")
    added: dict[Key, Node] = {**({COMPONENT: role} if role else {}), **(labels or {})}
    return {
        "name": name,
        "labels": {Splice("labels"): _COMMON, **added} if added else _COMMON,
        "annotations": {**annotations, Splice("annotations"): job_annotations} if annotations else job_annotations,
    }


def literal_metadata(name: Node, key: Node) -> Node:
    """Return the metadata of an object under `objects` of the job file.

    The labels and annotations of the object override the labels and annotations of the job.

    Args:
        name: the name of the object.
        key: the key of the object in the job file.
    """
    return {
        "name": name,
        "labels": {Splice("owner"): _OWNER, OBJECT: key, Splice("labels"): LITERAL_LABELS},
        "annotations": LITERAL_ANNOTATIONS,
    }


def has_labels_of_metadata(item: Mapping[Key, Node]) -> bool:
    """Return True if the function `metadata` has set the labels of an object. A Pod has other labels."""
    metadata = item["metadata"]
    node = metadata["labels"] if isinstance(metadata, dict) else None
    return node == _COMMON or (isinstance(node, dict) and node.get(Splice("labels")) == _COMMON)


def entries_set_by_tfgen(item: Mapping[Key, Node], field: str) -> dict[Key, Node]:
    """Return the labels or annotations that tfgen sets on the object `item`, but not on every object, by their keys.

    `field` is `labels` or `annotations`.
    """
    node = _metadata_of(item)[field]
    return {key: child for key, child in node.items() if not isinstance(key, Splice)} if isinstance(node, dict) else {}


def with_overriding_metadata(
    item: Mapping[Key, Node], added_labels: Sequence[Expression], added_annotations: Sequence[Expression]
) -> Node:
    """Return an object with additional labels and annotations, which override the labels and annotations of the job.

    Args:
        item: the object.
        added_labels: maps of labels. A later map overrides an earlier map.
        added_annotations: maps of annotations. A later map overrides an earlier map, and each map overrides the
            annotations that tfgen sets.
    """
    changed, result = {**_metadata_of(item)}, {**item}
    lets: list[tuple[Bound, Expression]] = []
    if added_labels:
        maps = (MapOf({}), value("labels"), *added_labels)
        lets.append((LITERAL_LABELS, Merged(maps)))
        entries = entries_set_by_tfgen(item, "labels")
        changed["labels"] = {Splice("owner"): _OWNER, **entries, Splice("labels"): LITERAL_LABELS}
    if added_annotations:
        lowest: dict[Name, Node] = {
            key: node for key, node in entries_set_by_tfgen(item, "annotations").items() if isinstance(key, str)
        }
        has_literal_annotations = _metadata_of(item)["annotations"] == LITERAL_ANNOTATIONS
        present = LITERAL_ANNOTATIONS if has_literal_annotations else value("annotations")
        lets.append((LITERAL_ANNOTATIONS, Merged((MapOf(lowest), present, *added_annotations))))
        changed["annotations"] = LITERAL_ANNOTATIONS
    result["metadata"] = changed
    node: Node = result
    for bound, expression in lets:
        node = Let(bound.name, expression, node)
    return node


def _metadata_of(item: Mapping[Key, Node]) -> dict[Key, Node]:
    node = item["metadata"]
    if not isinstance(node, dict):
        raise TypeError(f"not the metadata of tfgen: {node!r}")
    return node


def run_selector() -> Node:
    """Return the labels that select the pods of a run."""
    return _RUN_SELECTOR


def role_selector(role: Node) -> Node:
    """Return the labels that select the pods of a role in a run."""
    return {Splice("selector"): _RUN_SELECTOR, ROLE: role}


def role_labels(role: Node) -> Mapping[str, Node]:
    """Return each label of `role_selector` by its key."""
    return {**_RUN_LABELS, ROLE: role}


def pod_labels() -> Merged:
    """Return the labels of a task's pod: the defaults of tfgen, overridden by the job, and then by the role."""
    return Merged((MapOf({ISTIO_INJECT: "false"}), value("labels"), role_value("labels")))


def pod_annotations() -> Merged:
    """Return the annotations of a task's pod: the defaults of tfgen, overridden by the user's annotations."""
    defaults = MapOf({CLUSTER_AUTOSCALER_EVICT: "false", KARPENTER_KEEP: "true", LINKERD_INJECT: "disabled"})
    return Merged((defaults, value("annotations"), role_value("annotations")))


POD_LABELS: Final = Bound("labels", "map")
POD_ANNOTATIONS: Final = Bound("annotations", "map")
