"""Places pods on nodes by the rules of the scheduler. The largest pods come first, each on the first node with room."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from tfgen.scheduling.amounts import Counts
from tfgen.scheduling.board import Board, Domains
from tfgen.scheduling.node_pool import capacity


class Placement:
    """The current placement of a board's pods on the nodes.

    Attributes:
        left: for each set, the number of pods without a node.
        placed: index of a node -> index of a set -> number of the set's pods on the node.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self.left = [pod_set.count for pod_set in board.sets]
        self.placed: dict[int, dict[int, int]] = {}
        self._free: dict[int, dict[str, int]] = {}
        self._counts = [[_DomainCounts(domains.counts) for domains in of_set] for of_set in board.domains]
        self._near: defaultdict[tuple[str, str, int], int] = defaultdict(int)

    def free(self, index: int) -> Counts:
        """Return the amounts of resources that are free on a node."""
        return self._free.get(index, self.board.nodes[index].free)

    def takes(self, number: int, index: int) -> bool:
        """Test whether the scheduler could place one more pod of the set `number` on the node `index`."""
        board, free = self.board, self.free(index)
        if any(free.get(resource, 0) < value for resource, value in board.sets[number].requests.items()):
            return False
        labels = board.nodes[index].labels
        for key, rival in board.conflicts[number]:
            if key in labels and self._near.get((key, labels[key], rival)):
                return False
        return all(self._is_even(number, order, index) for order in range(len(board.domains[number])))

    def place(self, number: int, index: int, pods: int = 1) -> None:
        """Place `pods` more pods of the set `number` on the node `index`. A negative `pods` removes pods."""
        board = self.board
        self.left[number] -= pods
        placed = self.placed.setdefault(index, {})
        placed[number] = placed.get(number, 0) + pods
        if not placed[number]:
            del placed[number]
            if not placed:
                del self.placed[index]
        free = self._free.setdefault(index, dict(board.nodes[index].free))
        for resource, value in board.sets[number].requests.items():
            free[resource] = free.get(resource, 0) - pods * value
        for spreading, order in board.counting[number]:
            domains = board.domains[spreading][order]
            if index in domains.of_node:
                self._counts[spreading][order].add(domains.of_node[index], pods)
        labels = board.nodes[index].labels
        for key in {key for key, _ in board.conflicts[number]} & labels.keys():
            self._near[key, labels[key], number] += pods

    def withdraw(self, numbers: Iterable[int]) -> None:
        """Remove all pods of the sets `numbers` from the nodes."""
        for number in numbers:
            for index in [index for index, placed in self.placed.items() if number in placed]:
                self.place(number, index, -self.placed[index][number])

    def _is_even(self, number: int, order: int, index: int) -> bool:
        """Test whether a topology spread of a set allows one more pod of the set on a node.

        Args:
            number: the index of the set.
            order: the index of the topology spread among those of the set.
            index: the index of the node.
        """
        domains: Domains = self.board.domains[number][order]
        counts, spread = self._counts[number][order], domains.spread
        least = counts.least if len(counts.of_domain) >= spread.min_domains else 0
        present = counts.of_domain.get(self.board.nodes[index].labels[spread.key], 0)
        return present + domains.counts_itself - least <= spread.max_skew


class _DomainCounts:
    """The number of counted pods in each domain of a topology spread, and the minimum of these numbers."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.of_domain = dict(counts)
        self._levels = Counter(counts.values())

    @property
    def least(self) -> int:
        return min(self._levels, default=0)

    def add(self, domain: str, pods: int) -> None:
        before = self.of_domain[domain]
        self.of_domain[domain] = before + pods
        self._levels[before + pods] += 1
        self._levels[before] -= 1
        if not self._levels[before]:
            del self._levels[before]


def first_fit(board: Board) -> Placement:
    """Place each pod of a board on the first node with room, the largest pods first."""
    placement = Placement(board)
    fit(placement, range(len(board.sets)))
    return placement


def fit(placement: Placement, numbers: Iterable[int]) -> None:
    """Place the pods of the sets `numbers` in addition to the placed pods, the largest pods first."""
    board = placement.board
    for number in sorted(numbers, key=lambda number: (-_size(board, number), len(board.places[number]))):
        _place(placement, number)


def _place(placement: Placement, number: int) -> None:
    """Place as many pods of the set `number` as fit, each pod on the first node with room."""
    board = placement.board
    pod_set = board.sets[number]
    if not pod_set.spreads and not board.conflicts[number]:
        for index in board.places[number]:
            if not placement.left[number]:
                return
            pods = min(placement.left[number], capacity(placement.free(index), pod_set.requests))
            if pods:
                placement.place(number, index, pods)
        return
    while placement.left[number]:
        taker = next((index for index in board.places[number] if placement.takes(number, index)), None)
        if taker is None:
            return
        placement.place(number, taker)


def _size(board: Board, number: int) -> float:
    """Return the size of a pod of the set `number`: the pod's largest share of a resource.

    The share of a resource is the pod's request divided by the free amount of all nodes together.
    """
    totals = board.pool.totals
    shares = (value / totals[name] for name, value in board.sets[number].requests.items() if totals.get(name))
    return max(shares, default=0.0)
