"""Whether runs fit on the nodes of a cluster: yes, no with what is lacking, or not known with why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from tfgen.plural import count
from tfgen.record import Record
from tfgen.scheduling.amounts import PODS
from tfgen.scheduling.board import Board
from tfgen.scheduling.certainty import Certainty, outcomes
from tfgen.scheduling.cluster import Cluster, namespace_of
from tfgen.scheduling.effort import Effort
from tfgen.scheduling.node_pool import NodePool
from tfgen.scheduling.placement import Placement, first_fit, fit
from tfgen.scheduling.pod_set import PodSet, pod_set
from tfgen.scheduling.pod_template import LabelReaders, PodTemplate, split
from tfgen.scheduling.shortage import Demand
from tfgen.words import either

Answer: TypeAlias = Literal["fits", "does not fit", "not known"]

FITS: Final = "fits"
DOES_NOT_FIT: Final = "does not fit"
NOT_KNOWN: Final = "not known"

_OF_ONE_POD: Final = ("hostname",)
"""Fields in which pods differ that are equal for the scheduler."""


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
    running = (pod["spec"] for node in cluster.nodes for pod in node.pods if pod["spec"].get("affinity"))
    waiting = (pod["spec"] for pod in cluster.waiting)
    readers = LabelReaders([*(template.spec for run in runs for template in run.pods), *running, *waiting])
    sets = {
        run.title: [
            pod_set(part, cluster) for template in run.pods if template.count for part in split(template, readers)
        ]
        for run in runs
    }
    pool, effort = NodePool(cluster), Effort()
    queue = _Queue(cluster, pool, effort, [item for of_run in sets.values() for item in of_run])
    refusals = {run.title: queue.refusal(run, sets[run.title]) for run in runs}
    for run in runs:
        refusal = refusals[run.title]
        if refusal and _holds_nothing(refusal, sets[run.title]):
            sets[run.title] = [item for item in sets[run.title] if not item.in_gang]
    others = [pod_set(template, cluster) for template in _waiting(cluster, readers)]
    board = Board(pool, [*(item for of_run in sets.values() for item in of_run), *others])
    certain = _certain(board, effort)
    return [refusals[run.title] or _acceptance(board, certain, run) for run in runs]


class _Queue:
    """The runs that are judged one after another, each beside the pods of those before it that have room."""

    def __init__(self, cluster: Cluster, pool: NodePool, effort: Effort, sets: Sequence[PodSet]) -> None:
        self._cluster, self._pool, self._effort = cluster, pool, effort
        self._placement = Placement(Board(pool, sets))
        self._numbers = {id(item): number for number, item in enumerate(sets)}
        self._before: list[PodSet] = []
        self._demand = Demand(pool)
        self._running = {cluster.priority(pod["spec"]) for node in cluster.nodes for pod in node.pods}

    def refusal(self, run: PlannedRun, own: Sequence[PodSet]) -> Verdict | None:
        """The answer for a run for which there is no room; None where there may be some."""
        lacks = _summed(Lack(item.role, item.count, reason=reason) for item in own for reason in item.obstacles[:1])
        refusal = Verdict(run, DOES_NOT_FIT, lacks) if lacks else self._alone(run, own) or self._beside(run, own)
        if refusal is None:
            closed = [item for item in own if not item.is_open]
            self._before += closed
            self._demand.add(closed)
            self._placement.withdraw(self._numbers[id(item)] for item in own if item.is_open)
        return refusal

    def _alone(self, run: PlannedRun, own: Sequence[PodSet]) -> Verdict | None:
        placement = first_fit(Board(self._pool, own))
        lacks = _summed(lack for number in range(len(own)) for lack in _lacks(placement, number))
        if not lacks or not self._has_no_room((), own, Demand(self._pool)):
            return None
        return self._no_room(run, own, lacks, ())

    def _beside(self, run: PlannedRun, own: Sequence[PodSet]) -> Verdict | None:
        numbers = [self._numbers[id(item)] for item in own]
        fit(self._placement, numbers)
        lacks = _summed(lack for number in numbers for lack in _lacks(self._placement, number))
        if not lacks or not self._before or not self._has_no_room(self._before, own, self._demand):
            return None
        self._placement.withdraw(numbers)
        return self._no_room(run, own, lacks, self._before)

    def _has_no_room(self, before: Sequence[PodSet], own: Sequence[PodSet], demand: Demand) -> bool:
        """Return whether the nodes certainly cannot take all pods, in any placement."""
        if any(item.count > self._pool.site(item).most for item in own) or demand.leaves_too_little(own):
            return True
        ends = outcomes(Board(self._pool, [*before, *own]), self._effort)
        return ends is not None and not ends.some_place_all

    def _no_room(
        self, run: PlannedRun, own: Sequence[PodSet], lacks: tuple[Lack, ...], before: Sequence[PodSet]
    ) -> Verdict:
        doubts = [(reason, item.role) for item in own if item.is_open for reason in item.doubts]
        priorities = self._running | {item.priority for item in before}
        doubts += [("pods of less priority may have to go", item.role) for item in own if _preempts(item, priorities)]
        if doubts:
            return Verdict(run, NOT_KNOWN, doubts=_by_reason(doubts))
        return Verdict(run, DOES_NOT_FIT, lacks, beside=tuple(dict.fromkeys(item.owner for item in before)))


def _preempts(own: PodSet, priorities: Iterable[int | None]) -> bool:
    """Return whether pods of lower or unknown priority may be preempted for other pods.

    https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
    """
    if own.spec.get("preemptionPolicy") == "Never":
        return False
    return any(own.priority is None or there is None or there < own.priority for there in priorities)


def _holds_nothing(refusal: Verdict, own: Iterable[PodSet]) -> bool:
    """Whether a run is a gang that can never start, whatever else there is, and so takes no place from others."""
    gang = {item.role for item in own if item.in_gang}
    return refusal.answer == DOES_NOT_FIT and not refusal.beside and any(lack.role in gang for lack in refusal.lacks)


def _summed(lacks: Iterable[Lack]) -> tuple[Lack, ...]:
    """Lacks of the same kind as one: the pods of a role may be several sets."""
    sums: dict[tuple[str, str, str, str], Lack] = {}
    for lack in lacks:
        key = (lack.role, lack.resource, lack.nodes, lack.reason)
        known = sums.get(key)
        sums[key] = known.replaced(pods=known.pods + lack.pods, count=known.count + lack.count) if known else lack
    return tuple(sums.values())


def _lacks(placement: Placement, number: int) -> Iterator[Lack]:
    """What the pods of a set are short of that have no place."""
    board, left = placement.board, placement.left[number]
    own, places = board.sets[number], board.places[number]
    if not left:
        return
    if not places:
        yield Lack(own.role, left, reason=_refused_by_all(board.pool, own))
        return
    is_short = False
    for resource, value in own.requests.items():
        room = sum(max(placement.free(index).get(resource, 0), 0) // value for index in places)
        if room < left:
            is_short = True
            yield Lack(own.role, left, resource, (left - room) * value, board.pool.selection(own))
    if not is_short:
        if own.spreads:
            reason = "its topology spread"
        elif board.conflicts[number]:
            reason = "podAntiAffinity"
        else:
            resources = either((resource for resource in own.requests if resource != PODS), "and")
            reason = f"no node has enough {resources} at once"
        yield Lack(own.role, left, nodes=board.pool.selection(own), reason=reason)


def _refused_by_all(pool: NodePool, own: PodSet) -> str:
    reasons = Counter(pool.refusals(own))
    texts = [f"{count(number, 'node')} {reason}" for reason, number in reasons.most_common()]
    return "; ".join(texts) or "there is no node"


def _certain(board: Board, effort: Effort) -> set[int]:
    """The sets of a board whose pods all have a place, whatever the scheduler does."""
    numbers = set(range(len(board.sets)))
    certainty = Certainty(board)
    certain = {number for number in numbers if certainty.always_placed(number)}
    if certain == numbers:
        return certain
    ends = outcomes(board, effort)
    if ends is not None and not ends.some_leave_over:
        return numbers
    priorities = {board.sets[number].priority for number in numbers - certain}
    return {number for number in certain if not any(_is_above(one, board.sets[number].priority) for one in priorities)}


def _is_above(one: int | None, other: int | None) -> bool:
    """Whether a pod of one priority may take the place of another's."""
    return one != other and (one is None or other is None or one > other)


def _acceptance(board: Board, certain: set[int], run: PlannedRun) -> Verdict:
    own = [(number, item) for number, item in enumerate(board.sets) if item.owner == run.title]
    placement = first_fit(Board(board.pool, [item for _, item in own]))
    doubts = [
        (reason, item.role)
        for _, item in own
        for reason in (*item.doubts, *board.pool.doubts(item), *board.pool.volume_doubts(item, board.sets))
    ]
    for left, (number, item) in zip(placement.left, own, strict=True):
        if left:
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


def _waiting(cluster: Cluster, readers: LabelReaders) -> Iterator[PodTemplate]:
    """The pods that wait for a node, equal ones together."""
    templates: dict[str, PodTemplate] = {}
    for pod in cluster.waiting:
        labels = {key: value for key, value in (pod["metadata"].get("labels") or {}).items() if key in readers.keys}
        spec = {key: value for key, value in pod["spec"].items() if key not in _OF_ONE_POD}
        template = PodTemplate("", pod["metadata"]["name"], namespace_of(pod), labels, spec, 1)
        key = repr((template.namespace, sorted(labels.items()), spec))
        known = templates.setdefault(key, template.replaced(count=0))
        templates[key] = known.replaced(count=known.count + 1)
    yield from templates.values()
