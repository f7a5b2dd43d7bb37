"""Sets of equal pods that need nodes, and the properties of pods that tfgen cannot evaluate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.kubernetes.labels import matches
from tfgen.kubernetes.object import Object
from tfgen.record import Record
from tfgen.scheduling.amounts import Counts, counts_of_pod
from tfgen.scheduling.anti_affinity import Term, terms_of
from tfgen.scheduling.claims import claims_of
from tfgen.scheduling.cluster import Cluster
from tfgen.scheduling.pod_template import PodTemplate

DEFAULT_SCHEDULER: Final = "default-scheduler"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PARTS: Final = ("containers", "initContainers")
_EMPTY: Final[Mapping[str, Any]] = {}


class Spread(Record):
    """A topology spread constraint with `whenUnsatisfiable: DoNotSchedule`.

    https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/

    Attributes:
        key: the node label. Nodes with the same value of the label are one domain.
        selector: the label selector of the counted pods, in the namespace of the pod that has the constraint.
        min_domains: the field `minDomains`. With fewer domains, the scheduler takes 0 as the smallest number of pods.
        by_selection: whether the constraint considers only the nodes that the pod selects.
        by_taints: whether the constraint considers only the nodes whose taints the pod tolerates.
    """

    key: str
    max_skew: int
    selector: Mapping[str, Any]
    min_domains: int
    by_selection: bool
    by_taints: bool


class PodSet(Record):
    """A set of equal pods, such as the workers of a run.

    Attributes:
        owner: the title of the run; empty for pods that already wait in the cluster and belong to no planned run.
        role: the role of the pods in the run.
        spec: the PodSpec, with the fields that its RuntimeClass adds.
        requests: the amounts of a node's resources that one pod uses.
        priority: the priority; None if the PriorityClass is not known.
        terms: the terms of the pods' required anti-affinity.
        volumes: the PersistentVolumes that the pods mount.
        obstacles: the reasons, in words, that keep the pods from starting on any node.
        doubts: the reasons, in words, why the pods may get no node even if tfgen finds a node with room.
        may_use_excluded_nodes: True if Kubernetes may place the pods on a node that tfgen excludes, for example because
            tfgen does not know the RuntimeClass of the pods.
        in_gang: True if the pods start only if the whole gang of their owner can start.
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
    terms: tuple[Term, ...]
    volumes: tuple[Object, ...]
    obstacles: tuple[str, ...]
    doubts: tuple[str, ...]
    may_use_excluded_nodes: bool
    in_gang: bool

    def is_counted_by(self, namespace: str, selector: Mapping[str, Any]) -> bool:
        """Test whether a topology spread counts these pods.

        Args:
            namespace: the namespace of the pods that have the topology spread.
            selector: the label selector of the topology spread.
        """
        return self.namespace == namespace and matches(selector, self.labels)


def pod_set(template: PodTemplate, cluster: Cluster) -> PodSet:
    """Return the set of pods of a template, with the changes that admission controllers of the cluster make."""
    spec = _with_runtime_class(template.spec, cluster)
    claims = tuple(claims_of(spec, template.namespace, cluster))
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
        terms=terms_of(spec, template.labels, template.namespace),
        volumes=tuple(claim.volume for claim in claims if claim.volume),
        obstacles=(*_obstacles(template.spec, cluster), *(claim.obstacle for claim in claims if claim.obstacle)),
        doubts=(*template.doubts, *_doubts(template, cluster), *(claim.doubt for claim in claims if claim.doubt)),
        may_use_excluded_nodes=bool(spec.get("nodeName")) or _lacks_runtime_class(template.spec, cluster),
        in_gang=template.in_gang,
    )


def _with_runtime_class(spec: Mapping[str, Any], cluster: Cluster) -> Mapping[str, Any]:
    """Return the PodSpec with the fields that an admission controller copies from the pod's RuntimeClass.

    https://kubernetes.io/docs/concepts/containers/runtime-class/#scheduling and #pod-overhead.
    """
    runtime = cluster.runtime_classes.get(spec.get("runtimeClassName") or "", _EMPTY)
    scheduling = _scheduling(cluster, spec.get("runtimeClassName") or "")
    overhead = (runtime.get("overhead") or {}).get("podFixed") or {}
    return {
        **spec,
        "nodeSelector": {**(spec.get("nodeSelector") or {}), **(scheduling.get("nodeSelector") or {})},
        "tolerations": [*(spec.get("tolerations") or ()), *(scheduling.get("tolerations") or ())],
        **({"overhead": overhead} if overhead else {}),
    }


def _obstacles(spec: Mapping[str, Any], cluster: Cluster) -> Iterator[str]:
    """Yield the reasons why Kubernetes refuses every pod with the given PodSpec.

    https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#priority and #runtimeclass
    """
    priority_class = spec.get("priorityClassName")
    if priority_class and cluster.has_all_priorities and priority_class not in cluster.priorities:
        yield f"Kubernetes refuses the pods, because the PriorityClass {priority_class} does not exist"
    name = spec.get("runtimeClassName") or ""
    selector = spec.get("nodeSelector") or {}
    for key, value in (_scheduling(cluster, name).get("nodeSelector") or _EMPTY).items():
        if selector.get(key, value) != value:
            reason = f"selects nodes with {key}={value}, but the role selects {key}={selector[key]}"
            yield f"Kubernetes refuses the pods, because the RuntimeClass {name} {reason}"


def _scheduling(cluster: Cluster, runtime_class: str) -> Mapping[str, Any]:
    """Return the field `scheduling` of a RuntimeClass: a mapping with the optional keys nodeSelector and tolerations.

    For an unknown RuntimeClass, or a RuntimeClass without this field, the mapping is empty.
    """
    scheduling: Mapping[str, Any] = cluster.runtime_classes.get(runtime_class, _EMPTY).get("scheduling") or _EMPTY
    return scheduling


def _lacks_runtime_class(spec: Mapping[str, Any], cluster: Cluster) -> bool:
    name = spec.get("runtimeClassName")
    return bool(name) and name not in cluster.runtime_classes


def _spreads(spec: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[Spread]:
    for constraint in spec.get("topologySpreadConstraints") or ():
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        selector = constraint.get("labelSelector")
        copied_labels = {key: labels[key] for key in constraint.get("matchLabelKeys") or () if key in labels}
        if selector is not None:
            selector = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **copied_labels}}
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
        yield f"the scheduler {scheduler} places the pods by its own rules"
    if data_path.at(spec, ("affinity", "podAffinity", _REQUIRED)):
        yield "tfgen cannot evaluate the podAffinity of the pods"
    if _lacks_runtime_class(spec, cluster):
        yield f"tfgen finds no RuntimeClass {spec['runtimeClassName']} in the cluster or in the file of --nodes"
    priority_class = spec.get("priorityClassName")
    if priority_class and not cluster.has_all_priorities and priority_class not in cluster.priorities:
        yield f"tfgen finds no PriorityClass {priority_class} in the cluster or in the file of --nodes"
    if spec.get("resourceClaims"):
        yield "tfgen cannot evaluate the resourceClaims of the pods"
    if spec.get("schedulingGates"):
        yield "the schedulingGates of the pods delay the scheduling"
    if spec.get("nodeName"):
        yield f"the nodeName of the pods is {spec['nodeName']}"
    ports = (port for part in _PARTS for container in spec.get(part) or () for port in container.get("ports") or ())
    if any(port.get("hostPort") for port in ports) or spec.get("hostNetwork"):
        yield "tfgen cannot evaluate the host ports of the pods"
