"""The input of a placement: nodes, sets of equal pods, and the rules between these sets. A board never changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tfgen.scheduling.node_pool import NodePool, SpreadDomains
from tfgen.scheduling.pod_set import PodSet


class Domains:
    """The domains of one topology spread constraint of a set of pods, such as the zones of the cluster.

    Attributes:
        of_node: the domain of each node that counts, by the index of the node.
        counts: the number of counted pods that each domain has already.
        counted: for each set of pods, whether the spread counts its pods.
        counts_itself: whether a pod of the set counts for the spread of the set.
    """

    def __init__(self, pods: PodSet, domains: SpreadDomains, sets: Sequence[PodSet]) -> None:
        self.spread = domains.spread
        self.of_node, self.counts = domains.of_node, domains.counts
        self.counted = [item.is_counted_by(pods.namespace, self.spread.selector) for item in sets]
        self.counts_itself = pods.is_counted_by(pods.namespace, self.spread.selector)


class Board:
    """The sets of equal pods that need nodes, and the nodes.

    Attributes:
        sites: for each set, the nodes that may take its pods.
        places: for each set, the indexes of these nodes.
        room: for each set, the number of its pods that each of these nodes takes if no other pods come.
        domains: for each set, the domains of its topology spreads.
        counting: for each set, the spreads that count its pods: the index of the spread's set, and the index of the
            spread.
        conflicts: for each set, the sets that anti-affinity forbids near its pods: a node label, and the set's index.
    """

    def __init__(self, pool: NodePool, sets: Sequence[PodSet]) -> None:
        self.pool, self.nodes, self.sets = pool, pool.nodes, sets
        self.sites = [pool.site(item) for item in sets]
        self.places = [site.places for site in self.sites]
        self.room = [site.room for site in self.sites]
        self.domains = [
            [Domains(item, domains, sets) for domains in site.domains]
            for item, site in zip(sets, self.sites, strict=True)
        ]
        self.counting: list[list[tuple[int, int]]] = [[] for _ in sets]
        for number, of_set in enumerate(self.domains):
            for order, domains in enumerate(of_set):
                for counted, is_counted in enumerate(domains.counted):
                    if is_counted:
                        self.counting[counted].append((number, order))
        conflicts: list[dict[tuple[str, int], None]] = [{} for _ in sets]
        for number, item in enumerate(sets):
            for term in item.terms:
                for target, pods in enumerate(sets):
                    if pool.selects(term, pods):
                        conflicts[number][term.key, target] = None
                        conflicts[target][term.key, number] = None
        self.conflicts = [[*of_set] for of_set in conflicts]

    @cached_property
    def pods(self) -> int:
        """The number of pods in all sets."""
        return sum(item.count for item in self.sets)
