"""Places pods on nodes by the rules of the scheduler. The largest pods come first, each on the first node with room."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from tfgen.scheduling.amounts import Counts
from tfgen.scheduling.board import Board, Domains
from tfgen.scheduling.node_pool import capacity


class Placement:
    """An assignment of pods to nodes. The methods `place` and `withdraw` change the assignment.

    Attributes:
        board: the nodes and the sets of pods.
        left: for each set, the number of pods without a node.
        placed: the number of pods of each set on each node. For example, {0: {2: 4}} means that the node 0 runs 4 pods
            of the set 2.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self.left = [pod_set.count for pod_set in board.sets]
        self.placed: dict[int, dict[int, int]] = {}
        self._free: dict[int, dict[str, int]] = {}
        self._counts = [[_DomainCounts(domains.counts) for domains in of_set] for of_set in board.domains]
        self._near: defaultdict[tuple[str, str, int], int] = defaultdict(int)

    def free(self, node_index: int) -> Counts:
        """Return the amounts of resources that are free on a node."""
        return self._free.get(node_index, self.board.nodes[node_index].free)

    def takes(self, set_index: int, node_index: int) -> bool:
        """Test whether the scheduler could place one more pod of the set `set_index` on the node `node_index`."""
        board, free = self.board, self.free(node_index)
        if any(free.get(resource, 0) < value for resource, value in board.sets[set_index].requests.items()):
            return False
        labels = board.nodes[node_index].labels
        for key, rival in board.conflicts[set_index]:
            if key in labels and self._near.get((key, labels[key], rival)):
                return False
        return all(
            self._spread_allows(set_index, spread_index, node_index)
            for spread_index in range(len(board.domains[set_index]))
        )

    def place(self, set_index: int, node_index: int, pods: int = 1) -> None:
        """Place `pods` more pods of the set `set_index` on the node `node_index`. A negative `pods` removes pods."""
        board = self.board
        self.left[set_index] -= pods
        placed = self.placed.setdefault(node_index, {})
        placed[set_index] = placed.get(set_index, 0) + pods
        if not placed[set_index]:
            del placed[set_index]
            if not placed:
                del self.placed[node_index]
        free = self._free.setdefault(node_index, dict(board.nodes[node_index].free))
        for resource, value in board.sets[set_index].requests.items():
            free[resource] = free.get(resource, 0) - pods * value
        for spreading, order in board.counting[set_index]:
            domains = board.domains[spreading][order]
            if node_index in domains.of_node:
                self._counts[spreading][order].add(domains.of_node[node_index], pods)
        labels = board.nodes[node_index].labels
        for key in {key for key, _ in board.conflicts[set_index]} & labels.keys():
            self._near[key, labels[key], set_index] += pods

    def withdraw(self, set_indexes: Iterable[int]) -> None:
        """Remove all pods of the sets `set_indexes` from the nodes."""
        for set_index in set_indexes:
            for node_index in [node_index for node_index, placed in self.placed.items() if set_index in placed]:
                self.place(set_index, node_index, -self.placed[node_index][set_index])

    def _spread_allows(self, set_index: int, spread_index: int, node_index: int) -> bool:
        """Test whether a topology spread constraint of a set allows one more pod of the set on a node.

        The index `spread_index` selects the constraint in `board.domains[set_index]`.
        """
        domains: Domains = self.board.domains[set_index][spread_index]
        counts, spread = self._counts[set_index][spread_index], domains.spread
        least = counts.least if len(counts.of_domain) >= spread.min_domains else 0
        present = counts.of_domain.get(self.board.nodes[node_index].labels[spread.key], 0)
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
    """Return a placement of the pods of `board`: the largest pods come first, each on the first node with room."""
    placement = Placement(board)
    fit(placement, range(len(board.sets)))
    return placement


def fit(placement: Placement, set_indexes: Iterable[int]) -> None:
    """Place the pods of the sets `set_indexes` in addition to the placed pods, the largest pods first."""
    board = placement.board
    for set_index in sorted(
        set_indexes, key=lambda set_index: (-_size(board, set_index), len(board.node_indexes[set_index]))
    ):
        _place(placement, set_index)


def _place(placement: Placement, set_index: int) -> None:
    """Place as many pods of the set `set_index` as fit, each pod on the first node with room."""
    board = placement.board
    pod_set = board.sets[set_index]
    if not pod_set.spreads and not board.conflicts[set_index]:
        for node_index in board.node_indexes[set_index]:
            if not placement.left[set_index]:
                return
            pods = min(placement.left[set_index], capacity(placement.free(node_index), pod_set.requests))
            if pods:
                placement.place(set_index, node_index, pods)
        return
    while placement.left[set_index]:
        taker = next(
            (node_index for node_index in board.node_indexes[set_index] if placement.takes(set_index, node_index)), None
        )
        if taker is None:
            return
        placement.place(set_index, taker)


def _size(board: Board, set_index: int) -> float:
    """Return the size of a pod of the set `set_index`: the pod's largest share of a resource.

    The share of a resource is the pod's request divided by the free amount of all nodes together.
    """
    totals = board.pool.totals
    shares = (value / totals[name] for name, value in board.sets[set_index].requests.items() if totals.get(name))
    return max(shares, default=0.0)
