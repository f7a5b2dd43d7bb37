"""Proves that pods fit on nodes in every order in which the scheduler may place the pods.

The scheduler takes the pods one after another, in an unpredictable order, and may place a pod on any node with room. So
room for all pods does not guarantee that every pod gets a node: small pods may take the node that a large pod needs.
Two methods prove that all pods fit. The class `Certainty` computes the maximum room that other pods can take away. This
method is fast, but cannot find every proof. The function `outcomes` tries all orders. This method is slow, and gives up
if the number of orders is too large.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from tfgen.record import Record
from tfgen.scheduling.amounts import Counts
from tfgen.scheduling.board import Board
from tfgen.scheduling.effort import Effort
from tfgen.scheduling.placement import Placement

STATES: Final = 4_000
"""Maximum number of placements that a search examines. Such a search takes about a second."""


class Outcomes(Record):
    """The results of a search through all orders in which the scheduler may place the pods.

    Attributes:
        some_place_all: True if at least one order gives every pod a node.
        some_leave_over: True if at least one order leaves a pod without a node.
    """

    some_place_all: bool
    some_leave_over: bool


class Rivals(Record):
    """Equal pods that compete with a set of pods for the same nodes.

    Attributes:
        count: the number of competing pods.
        room: the number of competing pods that fit on each node that may run these pods, by index of the node.
            Example: {0: 4, 2: 1}.
        requests: the amounts that one competing pod uses.
        is_counted_by_spread: True if the topology spread of the set counts the competing pods. The topology spread then
            limits the number of these pods in a domain, such as a zone.
        keeps_away: True if anti-affinity forbids the pods of the set on a node with a competing pod.
    """

    count: int
    room: Mapping[int, int]
    requests: Counts
    is_counted_by_spread: bool = False
    keeps_away: bool = False


class Certainty:
    """A test for the sets of pods on a board. The method `always_placed` tests one set."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._groups: dict[object, list[int]] = {}
        for set_index in range(len(board.sets)):
            self._groups.setdefault(self._group_key(set_index), []).append(set_index)
        self._answers: dict[object, bool] = {}

    def always_placed(self, set_index: int) -> bool:
        """Return True if all pods of a set certainly get a node in every order of scheduling.

        False means that tfgen has no proof.

        A place is room for one pod of the set on a node. For example, a node with 4 free GPUs has 2 places for pods
        with 2 GPUs. If the other pods together cannot take all places, each pod of the set gets a place. The other pods
        include the other pods of the same set. Only scarce resources count. For example, GPUs are scarce on a node if
        other pods can use so many GPUs of the node that one more pod of the set does not fit.

        With a topology spread, a place must remain in each domain that may have the fewest pods. Only in such a domain
        does the scheduler certainly accept one more pod.
        """
        board = self._board
        domains = board.domains[set_index]
        if domains:
            return self._is_placed_evenly(set_index)
        if board.conflicts[set_index]:
            return self._has_place(set_index, board.node_indexes[set_index], self._rivals(set_index), 0)
        key = self._group_key(set_index)
        if key not in self._answers:
            self._answers[key] = self._has_place(set_index, board.node_indexes[set_index], self._rivals(set_index), 0)
        return self._answers[key]

    def _is_placed_evenly(self, set_index: int) -> bool:
        board = self._board
        domains = board.domains[set_index]
        if len(domains) > 1 or len(domains[0].counts) < domains[0].spread.min_domains:
            return False
        (spread,) = domains
        coming = sum(
            pod_set.count for pod_set, is_counted in zip(board.sets, spread.counted, strict=True) if is_counted
        )
        least = (sum(spread.counts.values()) + coming - spread.counts_itself) // max(len(spread.counts), 1)
        counted = {rival for rival, is_counted in enumerate(spread.counted) if is_counted}
        rivals = self._rivals(set_index, counted)
        nodes: dict[str, list[int]] = {}
        for node_index in board.node_indexes[set_index]:
            if node_index in spread.of_node:
                nodes.setdefault(spread.of_node[node_index], []).append(node_index)
        for domain, present in spread.counts.items():
            if present > least:
                continue  # the domain never has the fewest pods
            if not self._has_place(set_index, nodes.get(domain, ()), rivals, least - present):
                return False
        return bool(spread.counts)

    def _has_place(self, set_index: int, nodes: Sequence[int], rivals: Sequence[Rivals], max_counted: int) -> bool:
        """Test whether one more pod of a set certainly finds room on the given nodes, although other pods compete.

        The topology spread of the set counts some of the competing pods, and so limits their number. `max_counted` is
        the maximum number of such pods that the scheduler can place on the nodes.
        """
        board = self._board
        requests, room = board.sets[set_index].requests, board.room[set_index]
        closers = [rival for rival in rivals if rival.keeps_away]
        if closers and any(self._is_shared(key) for key, _ in board.conflicts[set_index]):
            return False
        is_alone = bool(board.suitable_nodes[set_index].self_separating_keys)
        places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for node_index in nodes:
            if not room[node_index]:
                continue
            scarce = self._scarce_resources(set_index, node_index)
            if not scarce and not any(rival.room.get(node_index) for rival in closers):
                return True
            free = board.nodes[node_index].free
            count = min((free[resource] // requests[resource] for resource in scarce), default=1)
            places.setdefault(scarce, []).append((1 if is_alone else count, node_index))
        for of_scarce in places.values():
            of_scarce.sort(reverse=True)
        total = sum(count for of_scarce in places.values() for count, _ in of_scarce)
        return total > self._loss(requests, places, rivals, max_counted)

    def _loss(
        self,
        requests: Counts,
        places: Mapping[tuple[str, ...], Sequence[tuple[int, int]]],
        rivals: Iterable[Rivals],
        max_counted: int,
    ) -> int:
        """Return the maximum number of places that the competing pods can take. `always_placed` explains places.

        Args:
            requests: the amounts that one pod of the set uses.
            places: the nodes, grouped by their scarce resources. For example, {("nvidia.com/gpu",): [(4, 0), (2, 1)]}
                means that GPUs are scarce on the node 0 with 4 places, and on the node 1 with 2 places. The nodes with
                the most places come first.
            rivals: the competing pods.
            max_counted: as in `_has_place`.
        """
        lost = 0
        losses_of_counted: list[tuple[int, int]] = []
        for rival in rivals:
            losses: list[tuple[int, int]] = []
            for scarce, of_scarce in places.items():
                loss = max(
                    (-(-rival.requests.get(resource, 0) // requests[resource]) for resource in scarce), default=0
                )
                if not loss and not rival.keeps_away:
                    continue
                pods = rival.count
                for count, node_index in of_scarce:
                    if not pods:
                        break  # no rivals remain for the remaining nodes
                    most = min(rival.room.get(node_index, 0), pods)
                    if most:
                        losses.append((count if rival.keeps_away else min(loss, count), most))
                        pods -= most
            if rival.is_counted_by_spread:
                losses_of_counted += losses
            else:
                lost += _maximum_loss(losses, rival.count)
        return lost + _maximum_loss(losses_of_counted, max_counted)

    def _rivals(self, set_index: int, counted: Iterable[int] = ()) -> list[Rivals]:
        """Return the pods that compete with one pod of a set. These pods are all other pods of the board.

        Pods with equal requests and equal nodes share a `Rivals`. But the pods of a set in `counted` have a separate
        `Rivals`, and so have the pods that anti-affinity separates from the given set.

        Args:
            set_index: the index of the set.
            counted: the indexes of the sets that the topology spread of the set counts.
        """
        board = self._board
        separate = {*counted, *(rival for _, rival in board.conflicts[set_index])}
        conflicts = {rival for _, rival in board.conflicts[set_index]}
        counted_sets = {*counted}
        rivals = []
        for set_indexes in self._groups.values():
            requests = board.sets[set_indexes[0]].requests
            count = sum(board.sets[rival].count for rival in set_indexes) - (set_index in set_indexes)
            for rival in separate.intersection(set_indexes):
                size = board.sets[rival].count - (rival == set_index)
                count -= size
                rivals.append(Rivals(size, board.room[rival], requests, rival in counted_sets, rival in conflicts))
            room = (
                board.room[set_indexes[0]]
                if len(set_indexes) == 1
                else self._room_of_groups[self._group_key(set_indexes[0])]
            )
            rivals.append(Rivals(count, room, requests))
        return [rival for rival in rivals if rival.count]

    def _scarce_resources(self, set_index: int, node_index: int) -> tuple[str, ...]:
        """Return the scarce resources of a node.

        A resource is scarce if other pods may leave too little of the resource for one pod of the set.
        """
        board = self._board
        requests, free, use = (
            board.sets[set_index].requests,
            board.nodes[node_index].free,
            self._maximum_use[node_index],
        )
        set_indexes = self._groups[self._group_key(set_index)]
        count = sum(board.sets[member].count for member in set_indexes)
        # The pod does not compete with itself, so a node with room for all equal pods gets one pod less.
        without = 1 if self._room_of_groups[self._group_key(set_index)][node_index] >= count else 0
        return tuple(
            [name for name, value in requests.items() if use[name] - without * value > free.get(name, 0) - value]
        )

    def _group_key(self, set_index: int) -> object:
        """Return the key of the group to which a set belongs.

        A group contains the sets with equal requests and equal suitable nodes. If anti-affinity separates the pods of a
        set from each other, the set is a group of its own.
        """
        board = self._board
        suitable, requests = board.suitable_nodes[set_index], board.sets[set_index].requests
        return (suitable.nodes, tuple(sorted(requests.items())), set_index if suitable.self_separating_keys else None)

    def _is_shared(self, key: str) -> bool:
        """Test whether at least two nodes of the board have the same value of the label `key`."""
        values = [node.labels[key] for node in self._board.nodes if key in node.labels]
        return len(set(values)) < len(values)

    @cached_property
    def _room_of_groups(self) -> Mapping[object, Mapping[int, int]]:
        """The number of pods that fit on each node, for each group of sets. `_group_key` explains groups.

        The numbers of a group are a mapping by index of the node. Example: {0: 4, 2: 1}.
        """
        board = self._board
        rooms: dict[object, Mapping[int, int]] = {}
        for key, set_indexes in self._groups.items():
            if len(set_indexes) == 1:
                rooms[key] = board.room[set_indexes[0]]
                continue
            count = sum(board.sets[set_index].count for set_index in set_indexes)
            capacities = board.pool.capacities(
                board.suitable_nodes[set_indexes[0]].nodes, board.sets[set_indexes[0]].requests
            )
            rooms[key] = {
                node_index: min(count, room)
                for node_index, room in zip(board.node_indexes[set_indexes[0]], capacities, strict=True)
            }
        return rooms

    @cached_property
    def _maximum_use(self) -> Sequence[Mapping[str, int]]:
        """The maximum amounts of resources that the pods of the board can use on each node.

        tfgen adds up the maximum use of each group of sets, so the sum may be larger than the node. `_group_key`
        explains groups. Example for two nodes: [{"cpu": 64000, "nvidia.com/gpu": 8}, {"cpu": 4000}].
        """
        board = self._board
        uses: list[dict[str, int]] = [{} for _ in board.nodes]
        for key, set_indexes in self._groups.items():
            requests = board.sets[set_indexes[0]].requests
            for node_index, room in self._room_of_groups[key].items():
                use = uses[node_index]
                for resource, value in requests.items():
                    use[resource] = use.get(resource, 0) + room * value
        return uses


def _maximum_loss(losses: list[tuple[int, int]], pods: int) -> int:
    """Return the maximum number of places that a number of competing pods can take together.

    Args:
        losses: pairs of numbers. For example, (2, 3) means that one competing pod takes 2 places on a node, and that at
            most 3 such pods fit on the node.
        pods: the number of competing pods.
    """
    total = 0
    for loss, most in sorted(losses, reverse=True):
        count = min(most, pods)
        total, pods = total + count * loss, pods - count
    return total


def outcomes(board: Board, effort: Effort | None = None, states: int = STATES) -> Outcomes | None:
    """Search for an order that gives every pod a node, and for an order that leaves a pod without a node.

    The search tries each order in which the scheduler may place the pods of the board. If several nodes differ only in
    their names, the search tries only one of these nodes. Return None if the search exceeds a limit.

    Args:
        board: the nodes with their free resources, and the pods that wait.
        effort: the number of steps that the plan may still take; None for the maximum number of a plan.
        states: the maximum number of placements that the search examines.
    """
    effort = effort or Effort()
    if board.pods > _DEEPEST or not effort.take(len(board.nodes) * len(board.sets)):
        return None
    placement, classes = Placement(board), [*_node_classes(board)]
    nodes_of_class: dict[int, list[int]] = {}
    for node_index, node_class in enumerate(classes):
        nodes_of_class.setdefault(node_class, []).append(node_index)
    visited: set[object] = set()
    some_place_all = some_leave_over = False

    def follow() -> bool:
        """Try each possible placement of the remaining pods. Return False if a limit ends the search.

        If all pods get a node, set `some_place_all`. If pods remain, but the scheduler can place none of these pods,
        set `some_leave_over`.
        """
        nonlocal some_place_all, some_leave_over
        key = tuple(
            sorted(
                (classes[node_index], tuple(sorted(of_node.items())))
                for node_index, of_node in placement.placed.items()
            )
        )
        if key in visited or (some_place_all and some_leave_over):
            return True
        visited.add(key)
        if len(visited) > states or not effort.take((len(nodes_of_class) + len(placement.placed)) * len(board.sets)):
            return False
        next_placements = [*_next_placements(board, placement, classes, nodes_of_class)]
        if not next_placements:
            if any(placement.left):
                some_leave_over = True
            else:
                some_place_all = True
        for set_index, node_index in next_placements:
            placement.place(set_index, node_index)
            is_whole = follow()
            placement.place(set_index, node_index, -1)
            if not is_whole:
                return False
        return True

    return Outcomes(some_place_all, some_leave_over) if follow() else None


_DEEPEST: Final = 200
"""Maximum number of pods in a search. The search needs one level of Python's stack for each pod."""


def _next_placements(
    board: Board, placement: Placement, classes: list[int], nodes_of_class: Mapping[int, list[int]]
) -> Iterator[tuple[int, int]]:
    """Yield each possible placement of one more pod, as a pair: the index of the pod set, and the index of the node.

    If several nodes are equal, use only one of these nodes.

    Args:
        board: the board.
        placement: the pods that already have a node.
        classes: the number of each node from `_node_classes`. Nodes with the same number are equal.
        nodes_of_class: the indexes of all nodes with the same number. Example: {0: [0, 1], 1: [2]}.
    """
    empty = (
        next((node_index for node_index in nodes if node_index not in placement.placed), None)
        for nodes in nodes_of_class.values()
    )
    node_indexes = [*(node_index for node_index in empty if node_index is not None), *placement.placed]
    for set_index, left in enumerate(placement.left):
        if not left:
            continue
        tried: set[object] = set()
        for node_index in node_indexes:
            if not board.suitable_nodes[set_index].nodes >> node_index & 1:
                continue
            node = (classes[node_index], *sorted(placement.placed.get(node_index, {}).items()))
            if node not in tried and placement.takes(set_index, node_index):
                tried.add(node)
                yield set_index, node_index


def _node_classes(board: Board) -> Iterator[int]:
    """Yield a number for each node. Nodes that are equally suitable for every pod have the same number."""
    classes: dict[object, int] = {}
    all_domains = [domains for of_set in board.domains for domains in of_set]
    sizes = [Counter(domains.of_node.values()) for domains in all_domains]
    keys = sorted({key for of_set in board.conflicts for key, _ in of_set})
    nodes_of = Counter((key, node.labels[key]) for node in board.nodes for key in keys if key in node.labels)
    for node_index, node in enumerate(board.nodes):
        is_suitable = tuple(suitable.nodes >> node_index & 1 for suitable in board.suitable_nodes)
        spreads = []
        for domains, size in zip(all_domains, sizes, strict=True):
            domain = domains.of_node.get(node_index)
            value = node.labels.get(domains.spread.key)
            is_alone = domain is not None and size[domain] == 1
            spreads.append((domain is None, None if is_alone else value, domains.counts.get(domain or "", 0)))
        near = tuple((key in node.labels, _if_shared(nodes_of, key, node.labels.get(key, ""))) for key in keys)
        whole = (tuple(sorted(node.free.items())), is_suitable, tuple(spreads), near)
        yield classes.setdefault(whole, len(classes))


def _if_shared(nodes_of: Mapping[tuple[str, str], int], key: str, value: str) -> str:
    """Return the value of a node's label if other nodes have the same value of this label, or else an empty text.

    Args:
        nodes_of: the number of nodes with a label, by key and value of the label. Example: {("zone", "a"): 3}.
        key: the key of the label.
        value: the value of the label.
    """
    return value if nodes_of.get((key, value), 0) > 1 else ""
