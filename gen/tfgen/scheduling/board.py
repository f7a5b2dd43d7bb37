"""The board is the input of a placement: the nodes, the sets of equal pods, and the rules between the sets.

A board never changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tfgen.scheduling.node_pool import NodePool, SpreadDomains
from tfgen.scheduling.pod_set import PodSet


class Domains:
    """The domains of one topology spread constraint of a set of pods. A domain is, for example, a zone of the cluster.

    Attributes:
        of_node: the domain of each node that the constraint considers, by index of the node. Example: {0: "zone-a"}.
        counts: the number of running pods that the constraint counts in each domain. Example: {"zone-a": 3}.
        counted: True or False for each set of pods on the board. True means that the constraint counts the pods of the
            set.
        counts_itself: True if the constraint counts the pods that have the constraint.
    """

    def __init__(self, pods: PodSet, domains: SpreadDomains, sets: Sequence[PodSet]) -> None:
        self.spread = domains.spread
        self.of_node, self.counts = domains.of_node, domains.counts
        self.counted = [item.is_counted_by(pods.namespace, self.spread.selector) for item in sets]
        self.counts_itself = pods.is_counted_by(pods.namespace, self.spread.selector)


class Board:
    """The nodes, the sets of equal pods that need nodes, and the rules between the sets.

    Each of the following attributes is a list with one item for each set, in the order of `sets`.

    Attributes:
        suitable_nodes: the nodes that may run the pods of the set, and the room for these pods on the nodes.
        node_indexes: the indexes of the nodes that may run the pods of the set.
        room: the number of the set's pods that fit on each node before a pod is placed, by index of the node.
            Example: {0: 4, 2: 1}.
        domains: a `Domains` for each topology spread constraint of the set.
        counting: the topology spread constraints that count the pods of the set. The pair (2, 0) means the first
            constraint of the set with the index 2, which is `domains[2][0]`.
        conflicts: the sets that anti-affinity separates from the set. The pair ("zone", 2) means that no zone may run
            both a pod of the set and a pod of the set with the index 2. A set can conflict with itself.
    """

    def __init__(self, pool: NodePool, sets: Sequence[PodSet]) -> None:
        self.pool, self.nodes, self.sets = pool, pool.nodes, sets
        self.suitable_nodes = [pool.suitable_nodes(item) for item in sets]
        self.node_indexes = [suitable.node_indexes for suitable in self.suitable_nodes]
        self.room = [suitable.room for suitable in self.suitable_nodes]
        self.domains = [
            [Domains(item, domains, sets) for domains in suitable.domains]
            for item, suitable in zip(sets, self.suitable_nodes, strict=True)
        ]
        self.counting: list[list[tuple[int, int]]] = [[] for _ in sets]
        for set_index, of_set in enumerate(self.domains):
            for order, domains in enumerate(of_set):
                for counted, is_counted in enumerate(domains.counted):
                    if is_counted:
                        self.counting[counted].append((set_index, order))
        conflicts: list[dict[tuple[str, int], None]] = [{} for _ in sets]
        for set_index, item in enumerate(sets):
            for term in item.terms:
                for target, pods in enumerate(sets):
                    if pool.selects(term, pods):
                        conflicts[set_index][term.key, target] = None
                        conflicts[target][term.key, set_index] = None
        self.conflicts = [[*of_set] for of_set in conflicts]

    @cached_property
    def pods(self) -> int:
        """The number of pods in all sets."""
        return sum(item.count for item in self.sets)
