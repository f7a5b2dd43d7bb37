"""Proves that pods fit on nodes in whatever order the scheduler places the pods.

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
    """The possible results, over all orders in which the scheduler may place the pods.

    Attributes:
        some_place_all: whether an order exists that places all pods.
        some_leave_over: whether an order exists that leaves a pod without a node.
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
    """Tests whether all pods of a set get a node in every order of scheduling."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._groups: dict[object, list[int]] = {}
        for set_index in range(len(board.sets)):
            self._groups.setdefault(self._group_key(set_index), []).append(set_index)
        self._answers: dict[object, bool] = {}

    def always_placed(self, set_index: int) -> bool:
        """Return True if all pods of a set get a node in every order of scheduling; False without a proof.

        A place is room for one pod of the set on a node: a node with 4 free GPUs has 2 places for pods with 2 GPUs. If
        all other pods together, also of the same set, cannot take every place, then each pod of the set gets a place.
        Only scarce resources count. For example, GPUs are scarce on a node if other pods can use so many GPUs of the
        node that one more pod of the set does not fit.

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
        """Test whether the competing pods always leave room for one pod of a set on the given nodes.

        Args:
            set_index: the index of the set.
            nodes: the indexes of the nodes.
            rivals: all pods except the pod that needs a place.
            max_counted: the maximum number of pods on the nodes, summed over the rivals with `is_counted_by_spread`.
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
        """Return the maximum number of a set's places (see `always_placed`) that the competing pods can take.

        Args:
            requests: the amounts that one pod of the set uses.
            places: scarce resources -> nodes on which these resources are scarce. A node is a pair: (number of places
                on the node, index of the node). The nodes with the most places come first.
            rivals: the pods that take places.
            max_counted: the maximum number of pods on the nodes, summed over the rivals with `is_counted_by_spread`.
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
        """Return the pods that compete with one pod of a set: all pods of the board, except the one pod.

        Pods with equal requests and nodes share a `Rivals`. Each set in `counted`, and each set in conflict with the
        set, has a separate `Rivals`.

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
        """Return the scarce resources of a node: other pods may leave too little for one pod of the set."""
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
        """Return the key of a set's group. Sets with the same requests and the same usable nodes are one group."""
        board = self._board
        suitable, requests = board.suitable_nodes[set_index], board.sets[set_index].requests
        return (suitable.nodes, tuple(sorted(requests.items())), set_index if suitable.self_separating_keys else None)

    def _is_shared(self, key: str) -> bool:
        """Test whether at least two nodes of the board have the same value of the label `key`."""
        values = [node.labels[key] for node in self._board.nodes if key in node.labels]
        return len(set(values)) < len(values)

    @cached_property
    def _room_of_groups(self) -> Mapping[object, Mapping[int, int]]:
        """Key of a group of sets -> index of a node -> number of the group's pods that fit on the node."""
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
        """For each node, resource -> amount in use if the node has the maximum number of pods of each group of sets.

        `_room_of_groups` contains these maximum numbers.
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
        losses: for each node, (number of places that one pod takes on the node, maximum number of such pods on the
            node).
        pods: the number of competing pods.
    """
    total = 0
    for loss, most in sorted(losses, reverse=True):
        count = min(most, pods)
        total, pods = total + count * loss, pods - count
    return total


def outcomes(board: Board, effort: Effort | None = None, states: int = STATES) -> Outcomes | None:
    """Search an order in which the scheduler places all pods, and an order that leaves a pod without a node.

    The board contains the nodes with their free resources, and the pods that wait. If several nodes differ only in
    their names, the search tries only one of the nodes. Return None if the search exceeds a limit.
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

        If all pods get a node, set `some_place_all`. If no node has room for a remaining pod, set `some_leave_over`.
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
    """Yield each possible placement of one more pod, as (index of the pod set, index of the node).

    If several nodes are equal, use only one of these nodes.

    Args:
        board: the board.
        placement: the pods that already have a node.
        classes: for each node, the class from `_node_classes`. Nodes of the same class are equal.
        nodes_of_class: class -> indexes of the nodes of the class.
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
        nodes_of: (key, value) of a label -> number of nodes with the label.
        key: the key of the label.
        value: the value of the label.
    """
    return value if nodes_of.get((key, value), 0) > 1 else ""
