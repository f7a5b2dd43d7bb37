"""What is certain of pods whatever the order in which the scheduler takes them, and whichever node it prefers.

The scheduler takes one pod after another, in no order that could be known before, and gives it any node that has room.
So that there is room for all pods does not mean that all find it: small ones may be where a large one had to be. Two
ways lead to certainty. `always_placed` counts how much others can take away at most; it costs little, and may miss
some. `outcomes` tries all orders; it costs much, and ends without a word where there are too many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tfgen.record import Record
from tfgen.scheduling.board import Board
from tfgen.scheduling.placement import Placement

STATES: Final = 4_000
"""About a second of them."""


class Outcomes(Record):
    """Whether some orders place all pods, and whether some leave a pod over."""

    some_place_all: bool
    some_leave_over: bool


def always_placed(board: Board, number: int) -> bool:
    """Whether each pod of a set has a place, whatever the others do. False is no answer.

    A node takes a number of the set's pods, and each pod of another set takes away at most some of these places, by
    the resource that it asks for most. Where all others together cannot take away all places of all nodes, there is
    one left. Only those resources are counted of which the pods that find room on a node can leave too little.

    With a topology spread, this must be so in each domain that has the fewest pods: that one takes a pod for certain.
    """
    domains = board.domains[number]
    if not domains:
        others = [own.count - (other == number) for other, own in enumerate(board.sets)]
        return _has_place(board, number, board.places[number], others, {})
    if len(domains) > 1 or len(domains[0].counts) < domains[0].spread.min_domains:
        return False
    (spread,) = domains
    coming = sum(own.count for own, is_counted in zip(board.sets, spread.counted, strict=True) if is_counted)
    least = (sum(spread.counts.values()) + coming - spread.counts_itself) // max(len(spread.counts), 1)
    for domain, there in spread.counts.items():
        if there > least:
            continue  # it never has the fewest
        nodes = [index for index in board.places[number] if spread.of_node.get(index) == domain]
        others = [own.count - (other == number) for other, own in enumerate(board.sets)]
        bound = {other: least - there for other, is_counted in enumerate(spread.counted) if is_counted}
        if not _has_place(board, number, nodes, others, bound):
            return False
    return bool(spread.counts)


def _has_place(board: Board, number: int, nodes: list[int], others: list[int], together: Mapping[int, int]) -> bool:
    """Whether the others cannot take all places that some nodes have for a set.

    Args:
        board: the pods and the nodes.
        number: of the set.
        nodes: the nodes' indexes.
        others: how many pods there are of each set, beside the one that is looked for a place for.
        together: how many pods at most are on these nodes of all sets that are named there, the same for each.
    """
    own = board.sets[number].requests
    places = 0
    taken: list[list[tuple[int, int]]] = [[] for _ in board.sets]
    for index in nodes:
        if not board.room[number][index]:
            continue
        free = board.nodes[index].free
        scarce = [resource for resource in own if _use(board, index, others, resource) > free[resource] - own[resource]]
        if not scarce:
            return True
        places += min(free[resource] // own[resource] for resource in scarce)
        for other, room in enumerate(board.room):
            most = min(room.get(index, 0), others[other])
            if most:
                requests = board.sets[other].requests
                loss = max(-(-requests.get(resource, 0) // own[resource]) for resource in scarce)
                taken[other].append((loss, most))
    lost = sum(_largest(taken[other], count) for other, count in enumerate(others) if other not in together)
    if together:
        lost += _largest([item for other in together for item in taken[other]], next(iter(together.values())))
    return places > lost


def _use(board: Board, index: int, others: list[int], resource: str) -> int:
    """The most that the others can take of a node's resource: each set as if it were alone."""
    return sum(
        min(others[other], room.get(index, 0)) * board.sets[other].requests.get(resource, 0)
        for other, room in enumerate(board.room)
    )


def _largest(losses: list[tuple[int, int]], pods: int) -> int:
    """The sum of the largest losses by some pods; each item is a loss, and by how many pods there can be such."""
    total = 0
    for loss, most in sorted(losses, reverse=True):
        count = min(most, pods)
        total, pods = total + count * loss, pods - count
    return total


def outcomes(board: Board, states: int = STATES) -> Outcomes | None:
    """What all orders and choices of the scheduler come to; None where there are too many.

    Nodes that differ in nothing but their name are taken for one another.
    """
    placement, kinds = Placement(board), [*_kinds(board)]
    seen: set[object] = set()
    ends = {True: False, False: False}

    def follow() -> bool:
        """Whether all that comes of the placement as it is has been seen."""
        key = tuple(sorted(zip(kinds, map(tuple, placement.placed), strict=True)))
        if key in seen or all(ends.values()):
            return True
        seen.add(key)
        if len(seen) > states:
            return False
        moves = [*_moves(board, placement, kinds)]
        if not moves:
            ends[not any(placement.left)] = True
        for number, index in moves:
            placement.put(number, index)
            is_whole = follow()
            placement.put(number, index, -1)
            if not is_whole:
                return False
        return True

    if sum(placement.left) > _DEEPEST or not follow():
        return None
    return Outcomes(ends[True], ends[False])


_DEEPEST: Final = 200
"""Pods; each is a level of Python's stack."""


def _moves(board: Board, placement: Placement, kinds: list[int]) -> Iterator[tuple[int, int]]:
    """Each set and node of which a pod may be placed next; of nodes that are alike, one."""
    for number, left in enumerate(placement.left):
        tried: set[object] = set()
        for index in board.places[number] if left else ():
            node = (kinds[index], *placement.placed[index])
            if node not in tried and placement.takes(number, index):
                tried.add(node)
                yield number, index


def _kinds(board: Board) -> Iterator[int]:
    """A number for each node, equal where nodes are alike to all pods."""
    kinds: dict[object, int] = {}
    for index, node in enumerate(board.nodes):
        places = tuple(index in room for room in board.room)
        spreads = []
        for domains in (domains for of_set in board.domains for domains in of_set):
            domain = domains.of_node.get(index)
            peers = [peer for peer, name in domains.of_node.items() if name == domain]
            own = node.labels.get(domains.spread.key)
            is_alone = peers == [index]
            spreads.append((domain is None, None if is_alone else own, domains.counts.get(domain or "", 0)))
        key = (tuple(sorted(node.free.items())), places, tuple(spreads))
        yield kinds.setdefault(key, len(kinds))
