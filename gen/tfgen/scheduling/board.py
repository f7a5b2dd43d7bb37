"""Pods to be placed beside nodes: which may go where, how many, and what is there already. It never changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from tfgen.scheduling.amounts import Counts
from tfgen.scheduling.cluster import Node, namespace_of
from tfgen.scheduling.node_choice import is_selected, untolerated
from tfgen.scheduling.pod_set import PodSet, Spread

UNBOUND: Final = 1 << 62
"""More pods than there are."""


class Domains:
    """The domains of one topology spread of one set of pods.

    Attributes:
        of_node: the domain of each node that counts, by its index.
        counts: the pods that are counted there already, by domain.
        counted: which sets of pods are counted.
    """

    def __init__(self, own: PodSet, spread: Spread, nodes: Sequence[Node], sets: Sequence[PodSet]) -> None:
        keys = {item.key for item in own.spreads}
        self.spread = spread
        self.of_node: dict[int, str] = {}
        self.counts: dict[str, int] = {}
        self.counted = [item.is_counted_by(own.namespace, spread.selector) for item in sets]
        self.counts_itself = own.is_counted_by(own.namespace, spread.selector)
        for index, node in enumerate(nodes):
            is_left_out = (spread.by_selection and not is_selected(own.spec, node)) or (
                spread.by_taints and untolerated(own.spec, node) is not None
            )
            if is_left_out or not keys <= node.labels.keys():
                continue
            domain = node.labels[spread.key]
            self.of_node[index] = domain
            self.counts[domain] = self.counts.get(domain, 0) + _counted_pods(own, spread, node)


def _counted_pods(own: PodSet, spread: Spread, node: Node) -> int:
    """CountPodsMatchSelector of Kubernetes: a pod that is being deleted counts no more."""
    return sum(
        not pod["metadata"].get("deletionTimestamp")
        and own.replaced(namespace=namespace_of(pod), labels=pod["metadata"].get("labels") or {}).is_counted_by(
            own.namespace, spread.selector
        )
        for pod in node.pods
    )


class Board:
    """Sets of equal pods, and nodes.

    Attributes:
        places: for each set, the indexes of the nodes that it may go to as long as they have room.
        domains: for each set, those of its topology spreads.
    """

    def __init__(self, nodes: Sequence[Node], sets: Sequence[PodSet]) -> None:
        self.nodes, self.sets = nodes, sets
        self.places: list[list[int]] = []
        self.domains: list[list[Domains]] = []
        for own in sets:
            keys = {spread.key for spread in own.spreads}
            self.places.append(
                [
                    index
                    for index, node in enumerate(nodes)
                    if is_selected(own.spec, node)
                    and untolerated(own.spec, node) is None
                    and keys <= node.labels.keys()
                ]
            )
            self.domains.append([Domains(own, spread, nodes, sets) for spread in own.spreads])

    @cached_property
    def room(self) -> list[dict[int, int]]:
        """For each set, how many of its pods each of its nodes takes, by the node's index, where no others come."""
        return [
            {index: min(own.count, capacity(self.nodes[index].free, own.requests)) for index in places}
            for own, places in zip(self.sets, self.places, strict=True)
        ]


def capacity(free: Counts, requests: Mapping[str, int]) -> int:
    """How many pods with some requests find room in what is free."""
    return max(0, min((free.get(resource, 0) // value for resource, value in requests.items()), default=UNBOUND))
