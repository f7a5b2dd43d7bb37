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
from tfgen.kubernetes.labels import matches
from tfgen.kubernetes.object import Object
from tfgen.record import Record
from tfgen.scheduling.amounts import Counts
from tfgen.scheduling.anti_affinity import Term, terms_of
from tfgen.scheduling.cluster import Cluster, Node, namespace_of
from tfgen.scheduling.node_choice import is_accessible, is_selected, selection, untolerated
from tfgen.scheduling.pod_set import PodSet, Spread
from tfgen.scheduling.volume_limits import CsiVolume, NodeVolumes, csi_volumes, node_volumes
from tfgen.words import either

UNBOUND: Final = 1 << 62
"""The number that means "no limit of the pods on a node". No node can run so many pods."""

_NODE_AFFINITY: Final = ("affinity", "nodeAffinity")


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

    def selects(self, term: Term, pods: PodSet) -> bool:
        """Test whether an anti-affinity term of a pod keeps the pods of a set away from the pod's node or zone."""
        return term.selects(pods.labels, pods.namespace, self.namespaces)

    def refusals(self, pods: PodSet) -> Iterator[str]:
        """Yield a reason, such as "without zone=a", for each node that cannot run the pods of a set.

        Ignore a lack of free resources.
        """
        forbidden_domains = self._forbidden_domains(pods)
        for node in self.nodes:
            taint = untolerated(pods.spec, node)
            spread = next((spread.key for spread in pods.spreads if spread.key not in node.labels), None)
            volume = next((volume for volume in pods.volumes if not is_accessible(volume, node)), None)
            near = next((pod for domain, pod in forbidden_domains.items() if domain in node.labels.items()), None)
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
                yield f"that podAntiAffinity excludes because of the pod {near}"
            elif driver := self._volumes[node.name].exceeded(csi_volumes(pods.volumes)):
                yield f"at the volume limit of the CSI driver {driver}"

    def selection(self, pods: PodSet) -> str:
        """Describe in words the nodes that a set of pods may use. The text is empty if the set may use every node."""
        volumes = [volume for volume in pods.volumes if self._with_access(volume).bit_count() < len(self.nodes)]
        names = [volume["metadata"]["name"] for volume in volumes]
        parts = [
            f"with access to the volume {either(names, 'and')}" if names else "",
            f"away from {either(dict.fromkeys(self._forbidden_domains(pods).values()), 'and')}"
            if self._forbidden_domains(pods)
            else "",
        ]
        text = " ".join(filter(None, parts))
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
            nodes &= self._attaching(volumes)
        node_indexes = self.indexes(nodes)
        self_separating_keys = tuple({term.key: None for term in pods.terms if self.selects(term, pods)})
        alone = 0
        for key in self_separating_keys:
            alone |= self._labelled(key)
        room = {
            index: min(pods.count, capacity, 1 if alone >> index & 1 else UNBOUND)
            for index, capacity in zip(node_indexes, self.capacities(nodes, pods.requests), strict=True)
        }
        return SuitableNodes(
            nodes=nodes,
            node_indexes=node_indexes,
            room=room,
            capacity=min(
                (self._capacity_of_domains(room, key) for key in self_separating_keys), default=sum(room.values())
            ),
            domains=tuple(self._domains(pods, spread) for spread in pods.spreads),
            self_separating_keys=self_separating_keys,
        )

    def _selected(self, pods: PodSet) -> int:
        spec = pods.spec
        key = f"selected {spec.get('nodeSelector')} {data_path.at(spec, _NODE_AFFINITY)}"
        return self._cached_bit_set(key, lambda node: is_selected(spec, node))

    def _tolerated(self, pods: PodSet) -> int:
        spec = pods.spec
        return self._cached_bit_set(
            f"tolerated {spec.get('tolerations')}", lambda node: untolerated(spec, node) is None
        )

    def _with_access(self, volume: Object) -> int:
        return self._cached_bit_set(f"volume {volume['metadata']['name']}", partial(is_accessible, volume))

    def _attaching(self, volumes: frozenset[CsiVolume]) -> int:
        return self._cached_bit_set(
            f"attaching {sorted(volumes)}", lambda node: not self._volumes[node.name].exceeded(volumes)
        )

    def _surely_attaching(self, volumes: frozenset[CsiVolume]) -> int:
        def attaches(node: Node) -> bool:
            on_node = self._volumes[node.name]
            return on_node.csi_node is not None and not on_node.exceeded(volumes, len(on_node.missing))

        return self._cached_bit_set(f"surely attaching {sorted(volumes)}", attaches)

    @cached_property
    def _volumes(self) -> Mapping[str, NodeVolumes]:
        return {node.name: node_volumes(self._cluster, node) for node in self.nodes}

    def _labelled(self, key: str) -> int:
        return self._cached_bit_set(f"labelled {key}", lambda node: key in node.labels)

    def _domain(self, key: str, value: str) -> int:
        return self._cached_bit_set(f"domain {key}={value}", lambda node: node.labels.get(key) == value)

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
            domain = self.nodes[index].labels.get(key, index)
            domains[domain] = max(domains.get(domain, 0), pods)
        return sum(domains.values())

    @cached_property
    def _running(self) -> Mapping[str, list[tuple[int, Mapping[str, str], bool, str]]]:
        """The running pods of each namespace. Example: {"ml": [(0, {"app": "web"}, False, "ml/web-0")]}.

        A pod is a tuple of the index of its node, its labels, True for a pod that is being deleted, and its name.
        """
        pods = defaultdict(list)
        for index, node in enumerate(self.nodes):
            for pod in node.pods:
                metadata = pod["metadata"]
                namespace, is_deleted = namespace_of(pod), bool(metadata.get("deletionTimestamp"))
                title = f"{namespace}/{metadata['name']}"
                pods[namespace].append((index, metadata.get("labels") or {}, is_deleted, title))
        return pods

    @cached_property
    def _terms_of_running_pods(self) -> Sequence[tuple[Node, Term, str]]:
        """The anti-affinity terms of the running pods.

        Each item is a tuple of the node, the term, and the name of the pod. The name of the pod contains its namespace,
        as in `ml/web-0`.
        """
        return [
            (node, term, f"{namespace_of(pod)}/{pod['metadata']['name']}")
            for node in self.nodes
            for pod in node.pods
            if pod["spec"].get("affinity")
            for term in terms_of(pod["spec"], pod["metadata"].get("labels") or {}, namespace_of(pod))
        ]

    def _forbidden_domains(self, pods: PodSet) -> Mapping[tuple[str, str], str]:
        """Return the node labels that the nodes of a set must not have, each with a running pod that is the reason.

        For example, {("zone", "a"): "ml/web-0"} means that the pods of the set avoid all nodes with the label zone=a.
        The running pod web-0 in the namespace ml is in this zone, and anti-affinity separates this pod from the set.
        """
        domains: dict[tuple[str, str], str] = {}
        for node, term, pod in self._terms_of_running_pods:
            if term.key in node.labels and self.selects(term, pods):
                domains.setdefault((term.key, node.labels[term.key]), pod)
        for term in pods.terms:
            for namespace, running in self._running.items():
                for index, labels, _, pod in running:
                    node = self.nodes[index]
                    if term.key in node.labels and term.selects(labels, namespace, self.namespaces):
                        domains.setdefault((term.key, node.labels[term.key]), pod)
        return domains

    def volume_doubts(self, pods: PodSet, placed_sets: Sequence[PodSet]) -> Iterator[str]:
        """Yield at most one text: the reason why a suitable node may be unable to attach the volumes of a set.

        Args:
            pods: the set.
            placed_sets: all sets that the plan places, including `pods`. The volume limit of a node counts the volumes
                of all pods on the node.
        """
        drivers = {driver for driver, _ in csi_volumes(pods.volumes)}
        if not drivers:
            return
        nodes = self.suitable_nodes(pods).nodes
        near = (item for item in placed_sets if item.volumes and nodes & self.suitable_nodes(item).nodes)
        coming = frozenset(volume for item in near for volume in csi_volumes(item.volumes) if volume[0] in drivers)
        for index in self.indexes(nodes & ~self._surely_attaching(coming))[:1]:
            on_node = self._volumes[self.nodes[index].name]
            if on_node.csi_node is None:
                yield (
                    f"tfgen finds no CSINode {on_node.node} in the cluster or in the file of --nodes, "
                    "so tfgen does not know the volume limit of the node"
                )
            elif driver := on_node.exceeded(coming):
                yield (
                    f"the waiting pods have more volumes of the CSI driver {driver} "
                    f"than the node {on_node.node} can attach"
                )
            else:
                yield (
                    f"tfgen finds no volume of the claim {on_node.missing[0]} in the cluster or in the file of "
                    f"--nodes, but a pod on the node {on_node.node} mounts this claim"
                )

    def doubts(self, pods: PodSet) -> Iterator[str]:
        """Yield a text for each Namespace that tfgen does not find, but whose labels tfgen needs.

        An anti-affinity term reads the labels of the Namespace. The term belongs to the set `pods` or to a running pod.
        """
        namespaces = set()
        for _, term, _ in self._terms_of_running_pods:
            if term.needs_namespace(pods.labels, pods.namespace, self.namespaces):
                namespaces.add(pods.namespace)
        for term in pods.terms:
            for namespace, running in self._running.items():
                if any(term.needs_namespace(labels, namespace, self.namespaces) for _, labels, _, _ in running):
                    namespaces.add(namespace)
        for namespace in sorted(namespaces):
            yield (
                f"tfgen finds no Namespace {namespace} in the cluster or in the file of --nodes, "
                "but a podAntiAffinity reads the labels of this Namespace"
            )

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
        for index, labels, is_deleted, _ in self._running.get(pods.namespace, ()):
            # CountPodsMatchSelector of Kubernetes ignores a pod that is being deleted.
            if index in of_node and not is_deleted and matches(spread.selector, labels):
                counts[of_node[index]] += 1
        return SpreadDomains(spread, of_node, counts)


def capacity(free: Counts, requests: Mapping[str, Any]) -> int:
    """Return the number of pods with the given requests that fit into the free resources of a node."""
    return max(0, min((free.get(resource, 0) // value for resource, value in requests.items()), default=UNBOUND))
