"""Equal pods that are to be placed, and what of them arithmetic does not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.kubernetes.label_selector import matches
from tfgen.record import Record
from tfgen.scheduling.amounts import Counts, counts_of_pod
from tfgen.scheduling.cluster import Cluster, namespace_of

DEFAULT_SCHEDULER: Final = "default-scheduler"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PARTS: Final = ("containers", "initContainers")
_EMPTY: Final[Mapping[str, Any]] = {}


class Spread(Record):
    """A topology spread constraint that keeps pods off nodes.

    https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/

    Attributes:
        key: the label of nodes whose values are the domains.
        selector: of the pods that are counted, in the pod's own namespace.
        min_domains: with fewer domains, none counts as more than empty.
        by_selection: whether only nodes count that the pod selects.
        by_taints: whether only nodes count whose taints the pod tolerates.
    """

    key: str
    max_skew: int
    selector: Mapping[str, Any]
    min_domains: int
    by_selection: bool
    by_taints: bool


class PodSet(Record):
    """Equal pods.

    Attributes:
        owner: the run that they are of; empty for pods of others, which wait in the cluster.
        role: what they are in it.
        spec: Kubernetes' PodSpec, with what its RuntimeClass adds.
        requests: what one of them takes of a node.
        priority: None where it is not known.
        doubts: why a place that arithmetic sees may be none, in words.
        is_open: whether they may also have places that arithmetic does not see.
        in_gang: whether none of them starts unless all of its owner's gang can.
    """

    owner: str
    role: str
    namespace: str
    labels: Mapping[str, str]
    spec: Mapping[str, Any]
    count: int
    requests: Counts
    priority: int | None
    spreads: tuple[Spread, ...]
    doubts: tuple[str, ...]
    is_open: bool
    in_gang: bool

    def is_counted_by(self, namespace: str, selector: Mapping[str, Any]) -> bool:
        """Whether a topology spread of a namespace's pods counts these."""
        return self.namespace == namespace and matches(selector, self.labels)


class PodTemplate(Record):
    """Equal pods as their owner has them, of no cluster yet: as `PodSet` has them."""

    owner: str
    role: str
    namespace: str
    labels: Mapping[str, str]
    spec: Mapping[str, Any]
    count: int
    in_gang: bool = False
    doubts: tuple[str, ...] = ()


def pod_set(template: PodTemplate, cluster: Cluster) -> PodSet:
    """Equal pods as a cluster's admission has them."""
    spec = _with_runtime_class(template.spec, cluster)
    return PodSet(
        owner=template.owner,
        role=template.role,
        namespace=template.namespace,
        labels=template.labels,
        spec=spec,
        count=template.count,
        requests=counts_of_pod(spec),
        priority=cluster.priority(spec),
        spreads=tuple(_spreads(spec, template.labels)),
        doubts=(*template.doubts, *_doubts(template, cluster)),
        is_open=bool(spec.get("nodeName")) or _lacks_runtime_class(template.spec, cluster),
        in_gang=template.in_gang,
    )


def _with_runtime_class(spec: Mapping[str, Any], cluster: Cluster) -> Mapping[str, Any]:
    """https://kubernetes.io/docs/concepts/containers/runtime-class/#scheduling and #pod-overhead."""
    runtime = cluster.runtime_classes.get(spec.get("runtimeClassName") or "", _EMPTY)
    own = runtime.get("scheduling") or {}
    overhead = (runtime.get("overhead") or {}).get("podFixed") or {}
    return {
        **spec,
        "nodeSelector": {**(spec.get("nodeSelector") or {}), **(own.get("nodeSelector") or {})},
        "tolerations": [*(spec.get("tolerations") or ()), *(own.get("tolerations") or ())],
        **({"overhead": overhead} if overhead else {}),
    }


def _lacks_runtime_class(spec: Mapping[str, Any], cluster: Cluster) -> bool:
    name = spec.get("runtimeClassName")
    return bool(name) and name not in cluster.runtime_classes


def _spreads(spec: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[Spread]:
    for constraint in spec.get("topologySpreadConstraints") or ():
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        selector = constraint.get("labelSelector")
        own = {key: labels[key] for key in constraint.get("matchLabelKeys") or () if key in labels}
        if selector is not None:
            selector = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **own}}
        yield Spread(
            key=constraint["topologyKey"],
            max_skew=constraint["maxSkew"],
            selector=selector if selector is not None else {"matchExpressions": [{"key": "", "operator": "Exists"}]},
            min_domains=constraint.get("minDomains") or 1,
            by_selection=constraint.get("nodeAffinityPolicy", "Honor") == "Honor",
            by_taints=constraint.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )


def _doubts(template: PodTemplate, cluster: Cluster) -> Iterator[str]:
    spec = template.spec
    scheduler = spec.get("schedulerName") or DEFAULT_SCHEDULER
    if scheduler != DEFAULT_SCHEDULER:
        yield f"the scheduler {scheduler} decides"
    for kind in ("podAffinity", "podAntiAffinity"):
        if data_path.at(spec, ("affinity", kind, _REQUIRED)):
            yield f"its {kind} decides"
    for pod in (*(pod for node in cluster.nodes for pod in node.pods), *cluster.waiting):
        if keeps_away(pod["spec"], template.labels):
            yield f"the podAntiAffinity of {namespace_of(pod)}/{pod['metadata']['name']} decides"
            break
    if _lacks_runtime_class(spec, cluster):
        yield f"the RuntimeClass {spec['runtimeClassName']} is not there"
    for constraint in spec.get("topologySpreadConstraints") or ():
        unknown = [key for key in constraint.get("matchLabelKeys") or () if key not in template.labels]
        if unknown:
            yield f"its topology spread counts by the label {unknown[0]}"
    yield from _doubts_of_volumes(template, cluster)
    if spec.get("resourceClaims"):
        yield "its resource claims decide"
    if spec.get("schedulingGates"):
        yield "its scheduling gates decide"
    if spec.get("nodeName"):
        yield f"it names its node, {spec['nodeName']}"
    ports = (port for part in _PARTS for container in spec.get(part) or () for port in container.get("ports") or ())
    if any(port.get("hostPort") for port in ports) or spec.get("hostNetwork"):
        yield "its ports of the node decide"


def _doubts_of_volumes(template: PodTemplate, cluster: Cluster) -> Iterator[str]:
    """A bound volume that every node reaches decides nothing; a CSI driver may limit how many a node takes."""
    for volume in template.spec.get("volumes") or ():
        if "ephemeral" in volume:
            yield f"the volume {volume['name']} decides, which is made for the pod"
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if not name:
            continue
        claim = cluster.claims.get((template.namespace, name), _EMPTY)
        bound = cluster.volumes.get((claim.get("spec") or {}).get("volumeName") or "", _EMPTY).get("spec") or {}
        modes = bound.get("accessModes") or ()
        if not bound or "csi" in bound or bound.get("nodeAffinity") or "ReadWriteOncePod" in modes:
            yield f"the claim {name} decides, by its volume"


def keeps_away(spec: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a PodSpec's pod may keep pods with some labels off its node, or off those near to it."""
    terms = data_path.at(spec, ("affinity", "podAntiAffinity", _REQUIRED)) or ()
    return any(matches(term.get("labelSelector") or {}, labels) for term in terms)
