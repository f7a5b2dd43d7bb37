"""The nodes of a cluster. For each set of equal pods, the module finds the nodes that may run the pods of the set.

A set of nodes is an integer with one bit for each node: bit 3 is set if the node with index 3 is in the set. So the
comparison of two sets of nodes is fast, and sets of pods with the same selectors share a cached set of nodes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final

from tfgen import data_path
from tfgen.kubernetes.object import Object, matches, meets
from tfgen.record import Record
from tfgen.scheduling.admission import PodSet
from tfgen.scheduling.cluster import (
    NOT_FOUND,
    Cluster,
    CsiVolume,
    Node,
    NodeVolumes,
    RunningPod,
    csi_volumes,
    is_new,
    node_volumes,
)
from tfgen.scheduling.pods import NODE_ITSELF, Counts, Spread
from tfgen.words import either, listed

UNBOUND: Final = 1 << 62
"""The number that means "no limit of the pods on a node". No node can run so many pods."""

_NODE_AFFINITY: Final = ("affinity", "nodeAffinity")
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
_MOST_PODS: Final = 5
"""Maximum number of pods in the description of nodes."""
_AFFINITY_REASON: Final = "that podAntiAffinity excludes because of"
_ZONES: Final = "__"
"""The separator between two zones in the label of a volume."""


class SpreadDomains(Record):
    """The domains of one topology spread of a set of pods, and the number of counted pods in each domain.

    Attributes:
        of_node: the domain of each node that the topology spread considers, by index of the node.
            Example: {0: "zone-a"}.
        counts: the number of running pods that the topology spread counts in each domain. Example: {"zone-a": 3}.
    """

    spread: Spread
    of_node: Mapping[int, str]
    counts: Mapping[str, int]


class SuitableNodes(Record):
    """The nodes that may run the pods of a set, and the room for these pods on the nodes.

    Attributes:
        nodes: the nodes, as an integer with one bit for each node.
        node_indexes: the indexes of the nodes.
        room: the number of the set's pods that fit on each node if no other pods are placed, by index of the node.
            Example: {0: 4, 2: 1}.
        capacity: the number of the set's pods that fit on all these nodes together.
        domains: the domains of each topology spread of the set.
        self_separating_keys: the topology keys of anti-affinity between the pods of the set. For example, the key
            `zone` means that each zone may run only one pod of the set.
    """

    nodes: int
    node_indexes: tuple[int, ...]
    room: Mapping[int, int]
    capacity: int
    domains: tuple[SpreadDomains, ...]
    self_separating_keys: tuple[str, ...]


class NodePool:
    """The nodes of a cluster, and the pods that run on the nodes."""

    def __init__(self, cluster: Cluster) -> None:
        self.nodes: Sequence[Node] = cluster.nodes
        self.namespaces = cluster.namespaces
        self._cluster = cluster
        self._suitable_nodes: dict[int, tuple[PodSet, SuitableNodes]] = {}
        self._forbidden: dict[int, Mapping[tuple[str, str], tuple[str, str]]] = {}
        self._bit_sets: dict[str, int] = {}
        self._indexes: dict[int, tuple[int, ...]] = {}
        self._capacities: dict[object, list[int]] = {}

    def suitable_nodes(self, pods: PodSet) -> SuitableNodes:
        """Return the nodes that may run the pods of a set, and the room for these pods on the nodes."""
        if id(pods) not in self._suitable_nodes:
            self._suitable_nodes[id(pods)] = (pods, self._find_suitable_nodes(pods))
        return self._suitable_nodes[id(pods)][1]

    @cached_property
    def totals(self) -> Mapping[str, int]:
        """The sum of the free amounts of all nodes for each resource. Example: {"cpu": 64000, "nvidia.com/gpu": 8}."""
        totals: Counter[str] = Counter()
        for node in self.nodes:
            for resource, value in node.free.items():
                totals[resource] += max(value, 0)
        return totals

    def free(self, nodes: int, resource: str) -> int:
        """Return the sum of the free amounts of a resource on the nodes in the bit set `nodes`."""
        return sum(max(self.nodes[index].free.get(resource, 0), 0) for index in self.indexes(nodes))

    def indexes(self, nodes: int) -> tuple[int, ...]:
        """Return the indexes of the nodes in the bit set `nodes`."""
        if nodes not in self._indexes:
            digits = bin(nodes)[:1:-1]
            self._indexes[nodes] = tuple(index for index, digit in enumerate(digits) if digit == "1")
        return self._indexes[nodes]

    def capacities(self, nodes: int, requests: Counts) -> list[int]:
        """Return the number of pods with the given requests that fit on each node in the bit set `nodes`."""
        key = (nodes, *sorted(requests.items()))
        if key not in self._capacities:
            self._capacities[key] = [capacity(self.nodes[index].free, requests) for index in self.indexes(nodes)]
        return self._capacities[key]

    def separating_keys(self, pods: PodSet, rivals: PodSet) -> Iterator[str]:
        """Yield the topology keys by which the pods of a set keep the pods of another set, or of the set, away."""
        for term in pods.terms:
            if term.selects(rivals.labels, rivals.namespace, self.namespaces):
                yield term.key
        if any(port.conflicts(rivals.host_ports) for port in pods.host_ports):
            yield NODE_ITSELF

    def refusals(self, pods: PodSet) -> Iterator[str]:
        """Yield a reason, such as "without zone=a", for each node that cannot run the pods of a set.

        Ignore a lack of free resources.
        """
        forbidden = self._forbidden_domains(pods)
        for node in self.nodes:
            taint = untolerated(pods.spec, node)
            spread = next((spread.key for spread in pods.spreads if spread.key not in node.labels), None)
            volume = next((volume for volume in pods.volumes if not is_accessible(volume, node)), None)
            near = next((reason for (key, value), (_, reason) in forbidden.items() if node.domain(key) == value), None)
            if not is_selected(pods.spec, node):
                yield selection(pods.spec).replace("nodes with ", "without ", 1)
            elif taint is not None:
                value = f"={taint['value']}" if taint.get("value") else ""
                yield f"with the taint {taint['key']}{value}:{taint['effect']}"
            elif spread is not None:
                yield f"without the label {spread}"
            elif volume is not None:
                yield f"without access to the volume {volume['metadata']['name']}"
            elif near is not None:
                yield near
            elif driver := self._volumes[node.name].exceeded(csi_volumes(pods.volumes)):
                yield f"at the volume limit of the CSI driver {driver}"

    def selection(self, pods: PodSet) -> str:
        """Describe in words the nodes that a set of pods may use. The text is empty if the set may use every node."""
        volumes = [volume for volume in pods.volumes if self._with_access(volume).bit_count() < len(self.nodes)]
        names = [volume["metadata"]["name"] for volume in volumes]
        forbidden = self._forbidden_domains(pods).items()
        near = [pod for (key, value), (pod, _) in forbidden if self._domain(key, value) & self._selected(pods)]
        keepers = list(dict.fromkeys(near))
        parts = [f"with access to the volume {either(names, 'and')}"] if names else []
        parts += [f"away from {listed(keepers, _MOST_PODS)}"] if keepers else []
        text = " ".join(parts)
        return f"{selection(pods.spec) or 'nodes'} {text}" if text else selection(pods.spec)

    def _find_suitable_nodes(self, pods: PodSet) -> SuitableNodes:
        nodes = self._selected(pods) & self._tolerated(pods)
        for spread in pods.spreads:
            nodes &= self._labelled(spread.key)
        for volume in pods.volumes:
            nodes &= self._with_access(volume)
        for key, value in self._forbidden_domains(pods):
            nodes &= ~self._domain(key, value)
        if volumes := csi_volumes(pods.volumes):
            key = f"attaching {sorted(volumes)}"
            nodes &= self._cached_bit_set(key, lambda node: not self._volumes[node.name].exceeded(volumes))
        node_indexes = self.indexes(nodes)
        self_separating_keys = tuple(dict.fromkeys(self.separating_keys(pods, pods)))
        alone = 0
        for key in self_separating_keys:
            alone |= self._labelled(key)
        room = {
            index: min(pods.count, capacity, 1 if alone >> index & 1 else UNBOUND)
            for index, capacity in zip(node_indexes, self.capacities(nodes, pods.requests), strict=True)
        }
        capacities = [self._capacity_of_domains(room, key) for key in self_separating_keys]
        return SuitableNodes(
            nodes=nodes,
            node_indexes=node_indexes,
            room=room,
            capacity=min(capacities, default=sum(room.values())),
            domains=tuple(self._domains(pods, spread) for spread in pods.spreads),
            self_separating_keys=self_separating_keys,
        )

    def _selected(self, pods: PodSet) -> int:
        key = f"selected {pods.spec.get('nodeSelector')} {data_path.at(pods.spec, _NODE_AFFINITY)}"
        return self._cached_bit_set(key, lambda node: is_selected(pods.spec, node))

    def _tolerated(self, pods: PodSet) -> int:
        key = f"tolerated {pods.spec.get('tolerations')}"
        return self._cached_bit_set(key, lambda node: untolerated(pods.spec, node) is None)

    def _with_access(self, volume: Object) -> int:
        name, affinity = volume["metadata"]["name"], data_path.at(volume, _VOLUME_TERMS)
        return self._cached_bit_set(f"volume {name} {affinity}", partial(is_accessible, volume))

    def _surely_attaching(self, volumes: frozenset[CsiVolume], are_new: bool) -> int:
        """Return the nodes that attach all volumes. A node without a CSINode has no limit for new volumes."""

        def attaches(node: Node) -> bool:
            on_node = self._volumes[node.name]
            is_known = on_node.csi_node is not None or are_new
            return is_known and not on_node.exceeded(volumes, len(on_node.missing))

        return self._cached_bit_set(f"surely attaching {sorted(volumes)} {are_new}", attaches)

    @cached_property
    def _volumes(self) -> Mapping[str, NodeVolumes]:
        return {node.name: node_volumes(self._cluster, node) for node in self.nodes}

    def _labelled(self, key: str) -> int:
        return self._cached_bit_set(f"labelled {key}", lambda node: node.domain(key) is not None)

    def _domain(self, key: str, value: str) -> int:
        return self._cached_bit_set(f"domain {key}={value}", lambda node: node.domain(key) == value)

    def _cached_bit_set(self, name: str, takes: Callable[[Node], bool]) -> int:
        """Return the nodes for which `takes` returns True, as a bit set. `name` is the key in the cache."""
        if name not in self._bit_sets:
            digits = "".join("1" if takes(node) else "0" for node in reversed(self.nodes))
            self._bit_sets[name] = int(digits or "0", 2)
        return self._bit_sets[name]

    def _capacity_of_domains(self, room: Mapping[int, int], key: str) -> int:
        """Return the number of pods that fit on all nodes if at most one pod runs in each domain, such as a zone.

        Args:
            room: the number of pods that fit on each node, by index of the node.
            key: the key of a node label, such as `zone`. Nodes with the same value of the label form a domain.
        """
        domains: dict[str | int, int] = {}
        for index, pods in room.items():
            domain = self.nodes[index].domain(key) or index
            domains[domain] = max(domains.get(domain, 0), pods)
        return sum(domains.values())

    @cached_property
    def _running(self) -> Mapping[str, list[tuple[int, RunningPod]]]:
        """The running pods of each namespace, each with the index of its node."""
        pods = defaultdict(list)
        for index, node in enumerate(self.nodes):
            for pod in node.pods:
                pods[pod.namespace].append((index, pod))
        return pods

    @cached_property
    def _guards(self) -> Sequence[tuple[Node, RunningPod]]:
        """The running pods that have anti-affinity terms, or occupy ports of their node, each with its node."""
        return [(node, pod) for node in self.nodes for pod in node.pods if pod.terms or pod.host_ports]

    def _forbidden_domains(self, pods: PodSet) -> Mapping[tuple[str, str], tuple[str, str]]:
        """Return the domains that the pods of a set must avoid, each with a running pod and the reason in words.

        For example, the key ("zone", "a") means that the pods avoid all nodes with the label zone=a, because
        anti-affinity separates the running pod from the set.
        """
        if id(pods) in self._forbidden:
            return self._forbidden[id(pods)]
        domains: dict[tuple[str, str], tuple[str, str]] = {}

        def forbid(key: str, node: Node, pod: RunningPod, reason: str) -> None:
            value = node.domain(key)
            if value is not None:
                domains.setdefault((key, value), (pod.title, f"{reason} the pod {pod.title}"))

        for node, pod in self._guards:
            for term in pod.terms:
                if term.selects(pods.labels, pods.namespace, self.namespaces):
                    forbid(term.key, node, pod, _AFFINITY_REASON)
        for term in pods.terms:
            for namespace, running in self._running.items():
                for index, pod in running:
                    if term.selects(pod.labels, namespace, self.namespaces):
                        forbid(term.key, self.nodes[index], pod, _AFFINITY_REASON)
        for node, pod in self._guards:
            for port in pods.host_ports:
                if port.conflicts(pod.host_ports):
                    forbid(NODE_ITSELF, node, pod, f"whose port {port.port} belongs to")
        self._forbidden[id(pods)] = domains
        return domains

    def volume_doubts(self, pods: PodSet, placed_sets: Sequence[PodSet]) -> Iterator[str]:
        """Yield at most one text: the reason why a suitable node may be unable to attach the volumes of a set.

        Args:
            pods: the set.
            placed_sets: all sets that the plan places, including `pods`. The volume limit of a node counts the volumes
                of all pods on the node.
        """
        volumes = csi_volumes(pods.volumes)
        if not volumes:
            return
        drivers = {driver for driver, _ in volumes}
        nodes = self.suitable_nodes(pods).nodes
        near = (item for item in placed_sets if item.volumes and nodes & self.suitable_nodes(item).nodes)
        coming = frozenset(volume for item in near for volume in csi_volumes(item.volumes) if volume[0] in drivers)
        for index in self.indexes(nodes & ~self._surely_attaching(coming, all(map(is_new, volumes))))[:1]:
            on_node = self._volumes[self.nodes[index].name]
            if on_node.csi_node is None:
                problem = f"tfgen finds no CSINode {on_node.node} {NOT_FOUND}"
                yield f"{problem}, so tfgen does not know the volume limit of the node"
            elif driver := on_node.exceeded(coming):
                problem = f"the waiting pods have more volumes of the CSI driver {driver}"
                yield f"{problem} than the node {on_node.node} can attach"
            else:
                problem = f"tfgen finds no volume of the claim {on_node.missing[0]} {NOT_FOUND}"
                yield f"{problem}, but a pod on the node {on_node.node} mounts this claim"

    def doubts(self, pods: PodSet) -> Iterator[str]:
        """Yield a text for each Namespace that tfgen does not find, but whose labels tfgen needs.

        An anti-affinity term reads the labels of the Namespace. The term belongs to the set `pods` or to a running pod.
        """
        namespaces = set()
        for _, pod in self._guards:
            if any(term.needs_namespace(pods.labels, pods.namespace, self.namespaces) for term in pod.terms):
                namespaces.add(pods.namespace)
        for term in pods.terms:
            for namespace, running in self._running.items():
                if any(term.needs_namespace(pod.labels, namespace, self.namespaces) for _, pod in running):
                    namespaces.add(namespace)
        for namespace in sorted(namespaces):
            problem = f"tfgen finds no Namespace {namespace} {NOT_FOUND}"
            yield f"{problem}, but a podAntiAffinity reads the labels of this Namespace"

    def _domains(self, pods: PodSet, spread: Spread) -> SpreadDomains:
        nodes = (1 << len(self.nodes)) - 1
        for key in {item.key for item in pods.spreads}:
            nodes &= self._labelled(key)
        if spread.by_selection:
            nodes &= self._selected(pods)
        if spread.by_taints:
            nodes &= self._tolerated(pods)
        of_node = {index: self.nodes[index].labels[spread.key] for index in self.indexes(nodes)}
        counts = dict.fromkeys(of_node.values(), 0)
        for index, pod in self._running.get(pods.namespace, ()):
            # CountPodsMatchSelector of Kubernetes ignores a pod that is being deleted.
            if index in of_node and not pod.is_deleted and matches(spread.selector, pod.labels):
                counts[of_node[index]] += 1
        return SpreadDomains(spread, of_node, counts)


def capacity(free: Counts, requests: Mapping[str, Any]) -> int:
    """Return the number of pods with the given requests that fit into the free resources of a node."""
    return max(0, min((free.get(resource, 0) // value for resource, value in requests.items()), default=UNBOUND))


def is_selected(spec: Mapping[str, Any], node: Node) -> bool:
    """Test whether the node selector and the node affinity of a PodSpec select a node.

    https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
    """
    terms: Sequence[Mapping[str, Any]] | None = data_path.at(spec, _NODE_TERMS)
    is_selected_by_labels = matches({"matchLabels": spec.get("nodeSelector")}, node.labels)
    return is_selected_by_labels and (terms is None or any(_is_met(term, node) for term in terms))


def untolerated(spec: Mapping[str, Any], node: Node) -> Mapping[str, str] | None:
    """Return the first taint of a node that a PodSpec does not tolerate; None if the PodSpec tolerates all taints.

    Taints with the effect PreferNoSchedule are ignored.
    https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
    """
    for taint in node.taints:
        is_tolerated = any(_tolerates(toleration, taint) for toleration in spec.get("tolerations") or ())
        if taint.get("effect") in _KEEPS_AWAY and not is_tolerated:
            return taint
    return None


def is_accessible(volume: Object, node: Node) -> bool:
    """Test whether pods on a node can use a PersistentVolume.

    The result depends on the node affinity, the zone and the region of the volume. The scheduler's plugin VolumeZone
    accepts each node that has no label of a zone or region:
    https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/scheduler/framework/plugins/volumezone/volume_zone.go
    """
    terms: Sequence[Mapping[str, Any]] | None = data_path.at(volume, _VOLUME_TERMS)
    if terms is not None and not any(_is_met(term, node, by_fields=False) for term in terms):
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


def _is_met(term: Mapping[str, Any], node: Node, *, by_fields: bool = True) -> bool:
    """Test whether a node meets a term of a NodeSelector. An empty term matches no node.

    In the node affinity of a volume, Kubernetes ignores `matchFields`, so `by_fields` is False.
    """
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    is_met = bool(expressions or fields) and meets(expressions, node.labels)
    return is_met and (not by_fields or meets(fields, {"metadata.name": node.name}))


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Test whether a toleration matches a taint.

    The rules are those of the function ToleratesTaint, without the operators Lt and Gt, which are an alpha feature:
    https://github.com/kubernetes/api/blob/v0.36.3/core/v1/toleration.go
    """
    if any(toleration.get(field) and toleration[field] != taint[field] for field in ("effect", "key")):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or "")
