"""Pods on nodes, one after another, as the scheduler filters nodes for each; and first fit by decreasing size."""

from __future__ import annotations

from collections.abc import Iterable

from tfgen.scheduling.board import Board, Domains, capacity


class Placement:
    """Which pods of a board are on which node.

    Attributes:
        left: of each set, how many pods have no place yet.
        placed: how many of each set each node has.
        free: of each node.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self.left = [own.count for own in board.sets]
        self.placed = [[0] * len(board.sets) for _ in board.nodes]
        self.free = [dict(node.free) for node in board.nodes]
        self._counts = [[dict(domains.counts) for domains in of_set] for of_set in board.domains]

    def takes(self, number: int, index: int) -> bool:
        """Whether the scheduler would place a pod of a set on one of its nodes now."""
        free, requests = self.free[index], self.board.sets[number].requests
        return all(free.get(resource, 0) >= value for resource, value in requests.items()) and all(
            self._is_even(number, order, index) for order in range(len(self.board.domains[number]))
        )

    def put(self, number: int, index: int, pods: int = 1) -> None:
        """Place some pods of a set on a node; fewer than none takes them back."""
        self.left[number] -= pods
        self.placed[index][number] += pods
        free = self.free[index]
        for resource, value in self.board.sets[number].requests.items():
            free[resource] = free.get(resource, 0) - pods * value
        for of_set, counts_of_set in zip(self.board.domains, self._counts, strict=True):
            for domains, counts in zip(of_set, counts_of_set, strict=True):
                if domains.counted[number] and index in domains.of_node:
                    counts[domains.of_node[index]] += pods

    def _is_even(self, number: int, order: int, index: int) -> bool:
        """Whether one more pod on a node leaves its domain no fuller than the constraint allows."""
        domains: Domains = self.board.domains[number][order]
        counts, spread = self._counts[number][order], domains.spread
        least = min(counts.values(), default=0) if len(counts) >= spread.min_domains else 0
        own = counts.get(self.board.nodes[index].labels[spread.key], 0)
        return own + domains.counts_itself - least <= spread.max_skew


def first_fit(board: Board, groups: Iterable[Iterable[int]]) -> Placement:
    """The pods of a board on the first nodes that take them, group after group, in each the largest pods first.

    Args:
        board: the pods and the nodes.
        groups: the numbers of the sets.
    """
    placement = Placement(board)
    for group in groups:
        for number in sorted(group, key=lambda number: (-_size(board, number), len(board.places[number]))):
            _place(placement, number)
    return placement


def _place(placement: Placement, number: int) -> None:
    """Place the pods of a set, as many as find room."""
    board = placement.board
    own = board.sets[number]
    if not own.spreads:
        for index in board.places[number]:
            pods = min(placement.left[number], capacity(placement.free[index], own.requests))
            if pods:
                placement.put(number, index, pods)
        return
    while placement.left[number]:
        takers = [index for index in board.places[number] if placement.takes(number, index)]
        if not takers:
            return
        placement.put(number, takers[0])


def _size(board: Board, number: int) -> float:
    """The largest share that a pod takes of what all nodes have of a resource."""
    requests = board.sets[number].requests
    totals = {resource: sum(max(node.free.get(resource, 0), 0) for node in board.nodes) for resource in requests}
    return max((value / totals[resource] for resource, value in requests.items() if totals[resource]), default=0.0)
