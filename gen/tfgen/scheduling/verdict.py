"""Whether runs fit on the nodes of a cluster: yes, no with what is lacking, or not known with why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from tfgen.kubernetes import keys
from tfgen.plural import count
from tfgen.record import Record
from tfgen.scheduling.amounts import PODS
from tfgen.scheduling.board import Board
from tfgen.scheduling.certainty import always_placed, outcomes
from tfgen.scheduling.cluster import Cluster, namespace_of
from tfgen.scheduling.node_choice import refusals, selection
from tfgen.scheduling.placement import Placement, first_fit
from tfgen.scheduling.pod_set import PodSet, PodTemplate, keeps_away, pod_set
from tfgen.words import either

Answer: TypeAlias = Literal["fits", "does not fit", "not known"]

FITS: Final = "fits"
DOES_NOT_FIT: Final = "does not fit"
NOT_KNOWN: Final = "not known"

_OF_ONE_POD: Final = (keys.STATEFUL_SET_INDEX, keys.STATEFUL_SET_POD, keys.JOB_INDEX)
"""Labels in which equal pods differ."""


class PlannedRun(Record):
    """A run that is to be placed.

    Attributes:
        title: what it is called; no two have the same.
    """

    title: str
    pods: tuple[PodTemplate, ...]


class Lack(Record):
    """What a role is short of.

    Attributes:
        pods: how many of its pods have no place.
        resource: what there is too little of; empty where it is not a resource.
        count: how much of it, as `amounts` counts.
        nodes: on which nodes, as the role chooses them, in words; empty where it takes any.
        reason: instead of a resource, in words.
    """

    role: str
    pods: int
    resource: str = ""
    count: int = 0
    nodes: str = ""
    reason: str = ""


class Doubt(Record):
    """Why arithmetic does not know whether the pods of some roles have a place, in words."""

    reason: str
    roles: tuple[str, ...]


class Verdict(Record):
    """The answer for one run.

    Attributes:
        lacks: of a run that does not fit.
        doubts: of one of which it is not known.
        beside: the runs before it that leave it no room; none where it does not fit alone.
    """

    run: PlannedRun
    answer: Answer
    lacks: tuple[Lack, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    beside: tuple[str, ...] = ()


def judge(cluster: Cluster, runs: Sequence[PlannedRun]) -> list[Verdict]:
    """The answer for each run: `fits` only where all pods of all runs may come in any order.

    A run that has no room alone does not fit, nor does one that has none beside those before it. What waits in the
    cluster for a node may come before any of them.
    """
    sets = {run.title: [pod_set(template, cluster) for template in run.pods if template.count] for run in runs}
    refusals_by_run: dict[str, Verdict] = {}
    before: list[PodSet] = []
    for run in runs:
        refusal = _refusal(cluster, run, sets[run.title], before)
        if refusal is None:
            before += (item for item in sets[run.title] if not item.is_open)
            continue
        refusals_by_run[run.title] = refusal
        if _holds_nothing(refusal, sets[run.title]):
            sets[run.title] = [item for item in sets[run.title] if not item.in_gang]
    waiting = [pod_set(template, cluster) for template in _waiting(cluster)]
    board = Board(cluster.nodes, [*(item for of_run in sets.values() for item in of_run), *waiting])
    certain = _certain(board)
    return [refusals_by_run.get(run.title) or _acceptance(board, certain, run) for run in runs]


def _refusal(cluster: Cluster, run: PlannedRun, own: Sequence[PodSet], before: Sequence[PodSet]) -> Verdict | None:
    """The answer for a run for which there is no room; None where there may be some."""
    for others in ((), before) if before else ((),):
        board = Board(cluster.nodes, [*others, *own])
        numbers = range(len(others), len(board.sets))
        placement = first_fit(board, [range(len(others)), numbers])
        lacks = tuple(lack for number in numbers for lack in _lacks(placement, number))
        if not lacks or not _has_no_room(board):
            continue
        doubts = [(reason, item.role) for item in own if item.is_open for reason in item.doubts]
        doubts += [
            ("pods of less priority may have to go", item.role) for item in own if _may_preempt(cluster, item, others)
        ]
        if doubts:
            return Verdict(run, NOT_KNOWN, doubts=_by_reason(doubts))
        return Verdict(run, DOES_NOT_FIT, lacks, beside=tuple(dict.fromkeys(item.owner for item in others)))
    return None


def _holds_nothing(refusal: Verdict, own: Iterable[PodSet]) -> bool:
    """Whether a run is a gang that can never start, whatever else there is, and so takes no place from others."""
    gang = {item.role for item in own if item.in_gang}
    return refusal.answer == DOES_NOT_FIT and not refusal.beside and any(lack.role in gang for lack in refusal.lacks)


def _has_no_room(board: Board) -> bool:
    """Whether it is certain that the pods of a board are more than its nodes take, however they are placed."""
    if any(own.count > sum(room.values()) for own, room in zip(board.sets, board.room, strict=True)):
        return True
    for places, own in zip(board.places, board.sets, strict=True):
        inner = [item for item, nodes in zip(board.sets, board.places, strict=True) if set(nodes) <= set(places)]
        for resource in own.requests:
            free = sum(max(board.nodes[index].free.get(resource, 0), 0) for index in places)
            if sum(item.count * item.requests.get(resource, 0) for item in inner) > free:
                return True
    ends = outcomes(board)
    return ends is not None and not ends.some_place_all


def _lacks(placement: Placement, number: int) -> Iterator[Lack]:
    """What the pods of a set are short of that have no place."""
    board, left = placement.board, placement.left[number]
    own, places = board.sets[number], board.places[number]
    if not left:
        return
    if not places:
        yield Lack(own.role, left, reason=_refused_by_all(board, own))
        return
    is_short = False
    for resource, value in own.requests.items():
        room = sum(max(placement.free[index].get(resource, 0), 0) // value for index in places)
        if room < left:
            is_short = True
            yield Lack(own.role, left, resource, (left - room) * value, selection(own.spec))
    if not is_short:
        resources = either((resource for resource in own.requests if resource != PODS), "and")
        reason = "its topology spread" if own.spreads else f"no node has enough {resources} at once"
        yield Lack(own.role, left, nodes=selection(own.spec), reason=reason)


def _refused_by_all(board: Board, own: PodSet) -> str:
    reasons = Counter(refusals(own.spec, board.nodes))
    lacking = len(board.nodes) - reasons.total()
    if lacking:
        reasons[f"without the label {own.spreads[0].key}"] = lacking
    texts = [f"{count(number, 'node')} {reason}" for reason, number in reasons.most_common()]
    return "; ".join(texts) or "there is no node"


def _may_preempt(cluster: Cluster, own: PodSet, others: Iterable[PodSet]) -> bool:
    """Whether pods that have a node, or come to one, may have to go for others: of less priority, or of none known.

    https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
    """
    if own.spec.get("preemptionPolicy") == "Never":
        return False
    priorities = [cluster.priority(pod["spec"]) for node in cluster.nodes for pod in node.pods]
    priorities += [other.priority for other in others]
    return any(own.priority is None or there is None or there < own.priority for there in priorities)


def _certain(board: Board) -> set[int]:
    """The sets of a board whose pods all have a place, whatever the scheduler does."""
    numbers = set(range(len(board.sets)))
    certain = {number for number in numbers if always_placed(board, number)}
    if certain == numbers:
        return certain
    ends = outcomes(board)
    if ends is not None and not ends.some_leave_over:
        return numbers
    priorities = [board.sets[number].priority for number in numbers - certain]
    return {number for number in certain if not any(_is_above(one, board.sets[number].priority) for one in priorities)}


def _is_above(one: int | None, other: int | None) -> bool:
    """Whether a pod of one priority may take the place of another's."""
    return one != other and (one is None or other is None or one > other)


def _acceptance(board: Board, certain: set[int], run: PlannedRun) -> Verdict:
    own = [(number, item) for number, item in enumerate(board.sets) if item.owner == run.title]
    doubts = [(reason, item.role) for _, item in own for reason in item.doubts]
    for _, item in own:
        others = [other for other in board.sets if keeps_away(other.spec, item.labels) and other is not item]
        doubts += [(f"the podAntiAffinity of {_title(other)} decides", item.role) for other in others[:1]]
    placement = first_fit(board, [[number for number, _ in own]])
    for number, item in own:
        if left := placement.left[number]:
            doubts.append((f"first fit finds no place for {left} of {count(item.count, 'pod')}", item.role))
        elif number not in certain:
            doubts.append(("there is room, but pods that come before may take it", item.role))
    return Verdict(run, NOT_KNOWN, doubts=_by_reason(doubts)) if doubts else Verdict(run, FITS)


def _by_reason(doubts: Iterable[tuple[str, str]]) -> tuple[Doubt, ...]:
    """Doubts, each with the roles that it is about, from pairs of a reason and a role."""
    roles: dict[str, dict[str, None]] = {}
    for reason, role in doubts:
        roles.setdefault(reason, {})[role] = None
    return tuple(Doubt(reason, tuple(of_reason)) for reason, of_reason in roles.items())


def _title(item: PodSet) -> str:
    return " of ".join(filter(None, (item.role, item.owner)))


def _waiting(cluster: Cluster) -> Iterator[PodTemplate]:
    """The pods that wait for a node, equal ones together."""
    templates: dict[str, PodTemplate] = {}
    for pod in cluster.waiting:
        labels = {key: value for key, value in (pod["metadata"].get("labels") or {}).items() if key not in _OF_ONE_POD}
        template = PodTemplate("", pod["metadata"]["name"], namespace_of(pod), labels, pod["spec"], 1)
        key = repr((template.namespace, labels, template.spec))
        known = templates.setdefault(key, template.replaced(count=0))
        templates[key] = known.replaced(count=known.count + 1)
    yield from templates.values()
