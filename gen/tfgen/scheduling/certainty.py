"""What is certain of pods whatever the order in which the scheduler takes them, and whichever node it prefers.

The scheduler takes one pod after another, in no order that could be known before, and gives it any node that has room.
So that there is room for all pods does not mean that all find it: small ones may be where a large one had to be. Two
ways lead to certainty. `Certainty` counts how much others can take away at most; it costs little, and may miss
some. `outcomes` tries all orders; it costs much, and ends without a word where there are too many.
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
"""About a second of them."""


class Outcomes(Record):
    """Whether some orders place all pods, and whether some leave a pod over."""

    some_place_all: bool
    some_leave_over: bool


class Rivals(Record):
    """Equal pods that may take places from a set of pods.

    Attributes:
        count: the number of these pods.
        room: for each node that they may go to, the number of these pods that the node takes.
        requests: the amounts that one of them takes.
        is_bounded: whether a topology spread bounds the number of these pods on the nodes in question.
        keeps_away: whether one of them closes its node to the set of pods.
    """

    count: int
    room: Mapping[int, int]
    requests: Counts
    is_bounded: bool = False
    keeps_away: bool = False


class Certainty:
    """The sets of a board that have a place for each of their pods, whatever comes."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._groups: dict[object, list[int]] = {}
        for number in range(len(board.sets)):
            self._groups.setdefault(self._key(number), []).append(number)
        self._answers: dict[object, bool] = {}

    def always_placed(self, number: int) -> bool:
        """Return whether each pod of a set has a place in every order of scheduling. False is no answer.

        A node takes a number of the set's pods, and each pod of another set takes away at most some of these places, by
        the resource that it asks for most. Where all others together cannot take away all places of all nodes, there is
        one left. Only those resources are counted of which the pods that find room on a node can leave too little.

        With a topology spread, this must be so in each domain that has the fewest pods: that one takes a pod for
        certain.
        """
        board = self._board
        domains = board.domains[number]
        if domains:
            return self._is_placed_evenly(number)
        if board.conflicts[number]:
            return self._has_place(number, board.places[number], self._rivals(number), 0)
        key = self._key(number)
        if key not in self._answers:
            self._answers[key] = self._has_place(number, board.places[number], self._rivals(number), 0)
        return self._answers[key]

    def _is_placed_evenly(self, number: int) -> bool:
        board = self._board
        domains = board.domains[number]
        if len(domains) > 1 or len(domains[0].counts) < domains[0].spread.min_domains:
            return False
        (spread,) = domains
        coming = sum(own.count for own, is_counted in zip(board.sets, spread.counted, strict=True) if is_counted)
        least = (sum(spread.counts.values()) + coming - spread.counts_itself) // max(len(spread.counts), 1)
        counted = {other for other, is_counted in enumerate(spread.counted) if is_counted}
        rivals = self._rivals(number, counted)
        nodes: dict[str, list[int]] = {}
        for index in board.places[number]:
            if index in spread.of_node:
                nodes.setdefault(spread.of_node[index], []).append(index)
        for domain, there in spread.counts.items():
            if there > least:
                continue  # it never has the fewest
            if not self._has_place(number, nodes.get(domain, ()), rivals, least - there):
                return False
        return bool(spread.counts)

    def _has_place(self, number: int, nodes: Sequence[int], rivals: Sequence[Rivals], bound: int) -> bool:
        """Return whether the rivals leave a place for a set on some nodes.

        Args:
            number: of the set.
            nodes: the nodes' indexes.
            rivals: all pods beside the one that is looked for a place for.
            bound: how many pods at most are on these nodes of all rivals that are bounded.
        """
        board = self._board
        own, room = board.sets[number].requests, board.room[number]
        closers = [rival for rival in rivals if rival.keeps_away]
        if closers and any(self._is_shared(key) for key, _ in board.conflicts[number]):
            return False
        is_alone = bool(board.sites[number].alone_keys)
        places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for index in nodes:
            if not room[index]:
                continue
            scarce = self._scarce(number, index)
            if not scarce and not any(rival.room.get(index) for rival in closers):
                return True
            free = board.nodes[index].free
            count = min((free[resource] // own[resource] for resource in scarce), default=1)
            places.setdefault(scarce, []).append((1 if is_alone else count, index))
        for of_scarce in places.values():
            of_scarce.sort(reverse=True)
        total = sum(count for of_scarce in places.values() for count, _ in of_scarce)
        return total > self._loss(own, places, rivals, bound)

    def _loss(
        self,
        own: Counts,
        places: Mapping[tuple[str, ...], Sequence[tuple[int, int]]],
        rivals: Iterable[Rivals],
        bound: int,
    ) -> int:
        """Return a bound on the places that the rivals take.

        Args:
            own: the amounts that one pod takes which has a place.
            places: by the scarce resources, the number of places and the index of each node, most places first.
            rivals: the pods that take places.
            bound: how many pods at most are on these nodes of all rivals that are bounded.
        """
        lost = 0
        bounded: list[tuple[int, int]] = []
        for rival in rivals:
            losses: list[tuple[int, int]] = []
            for scarce, of_scarce in places.items():
                loss = max((-(-rival.requests.get(resource, 0) // own[resource]) for resource in scarce), default=0)
                if not loss and not rival.keeps_away:
                    continue
                pods = rival.count
                for count, index in of_scarce:
                    if not pods:
                        break  # the nodes that follow have no more places to lose
                    most = min(rival.room.get(index, 0), pods)
                    if most:
                        losses.append((count if rival.keeps_away else min(loss, count), most))
                        pods -= most
            if rival.is_bounded:
                bounded += losses
            else:
                lost += _largest(losses, rival.count)
        return lost + _largest(bounded, bound)

    def _rivals(self, number: int, counted: Iterable[int] = ()) -> list[Rivals]:
        """All pods beside one of a set: those that take equal places as one."""
        board = self._board
        apart = {*counted, *(other for _, other in board.conflicts[number])}
        conflicts = {other for _, other in board.conflicts[number]}
        bounded = {*counted}
        rivals = []
        for numbers in self._groups.values():
            requests = board.sets[numbers[0]].requests
            count = sum(board.sets[other].count for other in numbers) - (number in numbers)
            for other in apart.intersection(numbers):
                own = board.sets[other].count - (other == number)
                count -= own
                rivals.append(Rivals(own, board.room[other], requests, other in bounded, other in conflicts))
            room = board.room[numbers[0]] if len(numbers) == 1 else self._room[self._key(numbers[0])]
            rivals.append(Rivals(count, room, requests))
        return [rival for rival in rivals if rival.count]

    def _scarce(self, number: int, index: int) -> tuple[str, ...]:
        """The resources of a node of which the pods beside one of a set can leave too little for that one."""
        board = self._board
        own, free, use = board.sets[number].requests, board.nodes[index].free, self._use[index]
        numbers = self._groups[self._key(number)]
        count = sum(board.sets[other].count for other in numbers)
        # The pod itself is no rival: on a node that has room for all pods like it, one fewer comes.
        without = 1 if self._room[self._key(number)][index] >= count else 0
        return tuple([name for name, value in own.items() if use[name] - without * value > free.get(name, 0) - value])

    def _key(self, number: int) -> object:
        """A value that is equal for sets whose pods ask for equal amounts on equal nodes."""
        board = self._board
        site, requests = board.sites[number], board.sets[number].requests
        return (site.nodes, tuple(sorted(requests.items())), number if site.alone_keys else None)

    def _is_shared(self, key: str) -> bool:
        """Return whether two nodes of the board have the same value of a label."""
        values = [node.labels[key] for node in self._board.nodes if key in node.labels]
        return len(set(values)) < len(values)

    @cached_property
    def _room(self) -> Mapping[object, Mapping[int, int]]:
        """For each group of sets, how many of its pods each node takes."""
        board = self._board
        rooms: dict[object, Mapping[int, int]] = {}
        for key, numbers in self._groups.items():
            if len(numbers) == 1:
                rooms[key] = board.room[numbers[0]]
                continue
            count = sum(board.sets[number].count for number in numbers)
            capacities = board.pool.capacities(board.sites[numbers[0]].nodes, board.sets[numbers[0]].requests)
            rooms[key] = {
                index: min(count, room) for index, room in zip(board.places[numbers[0]], capacities, strict=True)
            }
        return rooms

    @cached_property
    def _use(self) -> Sequence[Mapping[str, int]]:
        """The most that all pods can take of each node's resources: each group of sets as if it were alone."""
        board = self._board
        uses: list[dict[str, int]] = [{} for _ in board.nodes]
        for key, numbers in self._groups.items():
            requests = board.sets[numbers[0]].requests
            for index, room in self._room[key].items():
                use = uses[index]
                for resource, value in requests.items():
                    use[resource] = use.get(resource, 0) + room * value
        return uses


def _largest(losses: list[tuple[int, int]], pods: int) -> int:
    """The sum of the largest losses by some pods; each item is a loss, and by how many pods there can be such."""
    total = 0
    for loss, most in sorted(losses, reverse=True):
        count = min(most, pods)
        total, pods = total + count * loss, pods - count
    return total


def outcomes(board: Board, effort: Effort | None = None, states: int = STATES) -> Outcomes | None:
    """What all orders and choices of the scheduler come to; None where there are too many.

    Nodes that differ in nothing but their name are taken for one another.
    """
    effort = effort or Effort()
    if board.pods > _DEEPEST or not effort.take(len(board.nodes) * len(board.sets)):
        return None
    placement, kinds = Placement(board), [*_kinds(board)]
    alike: dict[int, list[int]] = {}
    for index, kind in enumerate(kinds):
        alike.setdefault(kind, []).append(index)
    seen: set[object] = set()
    ends = {True: False, False: False}

    def follow() -> bool:
        """Whether all that comes of the placement as it is has been seen."""
        key = tuple(
            sorted((kinds[index], tuple(sorted(of_node.items()))) for index, of_node in placement.placed.items())
        )
        if key in seen or all(ends.values()):
            return True
        seen.add(key)
        if len(seen) > states or not effort.take((len(alike) + len(placement.placed)) * len(board.sets)):
            return False
        moves = [*_moves(board, placement, kinds, alike)]
        if not moves:
            ends[not any(placement.left)] = True
        for number, index in moves:
            placement.put(number, index)
            is_whole = follow()
            placement.put(number, index, -1)
            if not is_whole:
                return False
        return True

    return Outcomes(ends[True], ends[False]) if follow() else None


_DEEPEST: Final = 200
"""Pods; each is a level of Python's stack."""


def _moves(
    board: Board, placement: Placement, kinds: list[int], alike: Mapping[int, list[int]]
) -> Iterator[tuple[int, int]]:
    """Each set and node of which a pod may be placed next; of nodes that are alike, one."""
    empty = (next((index for index in nodes if index not in placement.placed), None) for nodes in alike.values())
    indexes = [*(index for index in empty if index is not None), *placement.placed]
    for number, left in enumerate(placement.left):
        if not left:
            continue
        tried: set[object] = set()
        for index in indexes:
            if not board.sites[number].nodes >> index & 1:
                continue
            node = (kinds[index], *sorted(placement.placed.get(index, {}).items()))
            if node not in tried and placement.takes(number, index):
                tried.add(node)
                yield number, index


def _kinds(board: Board) -> Iterator[int]:
    """A number for each node, equal where nodes are alike to all pods."""
    kinds: dict[object, int] = {}
    all_domains = [domains for of_set in board.domains for domains in of_set]
    sizes = [Counter(domains.of_node.values()) for domains in all_domains]
    keys = sorted({key for of_set in board.conflicts for key, _ in of_set})
    nodes_of = Counter((key, node.labels[key]) for node in board.nodes for key in keys if key in node.labels)
    for index, node in enumerate(board.nodes):
        places = tuple(site.nodes >> index & 1 for site in board.sites)
        spreads = []
        for domains, size in zip(all_domains, sizes, strict=True):
            domain = domains.of_node.get(index)
            own = node.labels.get(domains.spread.key)
            is_alone = domain is not None and size[domain] == 1
            spreads.append((domain is None, None if is_alone else own, domains.counts.get(domain or "", 0)))
        near = tuple((key in node.labels, _if_shared(nodes_of, key, node.labels.get(key, ""))) for key in keys)
        whole = (tuple(sorted(node.free.items())), places, tuple(spreads), near)
        yield kinds.setdefault(whole, len(kinds))


def _if_shared(nodes_of: Mapping[tuple[str, str], int], key: str, value: str) -> str:
    """The value of a node's label; empty where no further node has the value."""
    return value if nodes_of.get((key, value), 0) > 1 else ""
