"""Decides whether runs fit on a cluster. The answers are `fits`, `does not fit` and `not known`.

The answer `does not fit` includes the shortage, and the answer `not known` includes the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from tfgen.record import Record
from tfgen.scheduling.amounts import PODS
from tfgen.scheduling.board import Board
from tfgen.scheduling.certainty import Certainty, outcomes
from tfgen.scheduling.cluster import Cluster, namespace_of
from tfgen.scheduling.effort import Effort
from tfgen.scheduling.node_pool import NodePool
from tfgen.scheduling.node_slots import NodeSlots, node_slots
from tfgen.scheduling.placement import Placement, first_fit, fit
from tfgen.scheduling.pod_set import PodSet, pod_set
from tfgen.scheduling.pod_template import LabelReaders, PodTemplate, split
from tfgen.scheduling.shortage import Demand
from tfgen.words import count, either

Answer: TypeAlias = Literal["fits", "does not fit", "not known"]

FITS: Final = "fits"
DOES_NOT_FIT: Final = "does not fit"
NOT_KNOWN: Final = "not known"

_OF_ONE_POD: Final = ("hostname",)
"""Fields of a PodSpec that may differ between equal pods, because the scheduler does not read these fields."""


class PlannedRun(Record):
    """A run whose pods need nodes.

    Attributes:
        title: the unique title of the run.
    """

    title: str
    pods: tuple[PodTemplate, ...]


class Lack(Record):
    """The shortage that leaves pods of a role without a node.

    Attributes:
        pods: the number of the role's pods without a node.
        resource: the scarce resource; empty if the reason is not a resource.
        count: the missing amount of the resource, in the units of the module `amounts`.
        nodes: the nodes that the role selects, in words; empty for all nodes.
        reason: the reason in words; empty if the reason is a scarce resource.
    """

    role: str
    pods: int
    resource: str = ""
    count: int = 0
    nodes: str = ""
    reason: str = ""


class Doubt(Record):
    """A reason, in words, why tfgen cannot decide whether pods fit, and the roles of these pods."""

    reason: str
    roles: tuple[str, ...]


class Verdict(Record):
    """The answer of `tfgen plan` for one run.

    Attributes:
        lacks: the shortages, if the run does not fit.
        doubts: the reasons why the answer is `not known`.
        competitors: the titles of the earlier runs that leave no room for the run; empty if the run does not fit even
            without the earlier runs.
    """

    run: PlannedRun
    answer: Answer
    lacks: tuple[Lack, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    competitors: tuple[str, ...] = ()


class Plan(Record):
    """The answers for all runs, and a possible placement of the pods.

    Attributes:
        verdicts: the answers, in the order of the runs.
        nodes: the nodes with the placed pods. tfgen places the waiting pods of the cluster first, then the runs in
            order, and each pod on the first node with room. A gang that can never start is not placed.
    """

    verdicts: tuple[Verdict, ...]
    nodes: tuple[NodeSlots, ...]


def plan_placement(cluster: Cluster, runs: Sequence[PlannedRun]) -> Plan:
    """Return the answer for each run, and a possible placement of the pods.

    A run fits only if all its pods get a node in every order of scheduling. A run does not fit if the free resources
    are too small for the run alone, or for the run together with the earlier runs. If neither is certain, the answer is
    `not known`. The pods that already wait in the cluster are part of each order of scheduling.
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
        if refusal and _is_refused_for_gang(refusal, sets[run.title]):
            sets[run.title] = [item for item in sets[run.title] if not item.in_gang]
    waiting_sets = [pod_set(template, cluster) for template in _waiting(cluster, readers)]
    board = Board(pool, [*(item for of_run in sets.values() for item in of_run), *waiting_sets])
    certain = _certain(board, effort)
    return Plan(
        tuple(refusals[run.title] or _acceptance(board, certain, run) for run in runs),
        node_slots(_in_order(board, ["", *sets])),
    )


def _in_order(board: Board, owners: Iterable[str]) -> Placement:
    """Return a placement of the pods of all owners, one owner after another. Omit pods that cannot start on any node.

    An owner is the title of a run, or "" for the pods that already wait in the cluster.
    """
    placement = Placement(board)
    for owner in owners:
        fit(
            placement,
            [set_index for set_index, item in enumerate(board.sets) if item.owner == owner and not item.obstacles],
        )
    return placement


class _Queue:
    """Evaluator of the runs of a plan. The caller calls `refusal` once for each run, in the order of the runs.

    Each run that `refusal` does not refuse takes room from the later runs.
    """

    def __init__(self, cluster: Cluster, pool: NodePool, effort: Effort, sets: Sequence[PodSet]) -> None:
        self._cluster, self._pool, self._effort = cluster, pool, effort
        self._placement = Placement(Board(pool, sets))
        self._set_indexes = {id(item): set_index for set_index, item in enumerate(sets)}
        self._before: list[PodSet] = []
        self._demand = Demand(pool)
        self._running = {cluster.priority(pod["spec"]) for node in cluster.nodes for pod in node.pods}

    def refusal(self, run: PlannedRun, sets: Sequence[PodSet]) -> Verdict | None:
        """Return the answer for a run that does not fit; None if the run may fit."""
        lacks = _summed(Lack(item.role, item.count, reason=reason) for item in sets for reason in item.obstacles[:1])
        refusal = (
            Verdict(run, DOES_NOT_FIT, lacks) if lacks else self._alone(run, sets) or self._with_earlier_runs(run, sets)
        )
        if refusal is None:
            restricted = [item for item in sets if not item.may_use_excluded_nodes]
            self._before += restricted
            self._demand.add(restricted)
            self._placement.withdraw(self._set_indexes[id(item)] for item in sets if item.may_use_excluded_nodes)
        return refusal

    def _alone(self, run: PlannedRun, sets: Sequence[PodSet]) -> Verdict | None:
        placement = first_fit(Board(self._pool, sets))
        lacks = _summed(lack for set_index in range(len(sets)) for lack in _lacks(placement, set_index))
        if not lacks or not self._has_no_room((), sets, Demand(self._pool)):
            return None
        return self._no_room(run, sets, lacks, ())

    def _with_earlier_runs(self, run: PlannedRun, sets: Sequence[PodSet]) -> Verdict | None:
        set_indexes = [self._set_indexes[id(item)] for item in sets]
        fit(self._placement, set_indexes)
        lacks = _summed(lack for set_index in set_indexes for lack in _lacks(self._placement, set_index))
        if not lacks or not self._before or not self._has_no_room(self._before, sets, self._demand):
            return None
        self._placement.withdraw(set_indexes)
        return self._no_room(run, sets, lacks, self._before)

    def _has_no_room(self, before: Sequence[PodSet], sets: Sequence[PodSet], demand: Demand) -> bool:
        """Return True if the nodes certainly lack room for a run and the earlier runs together.

        False means that all pods may fit.

        Args:
            before: the pod sets of the earlier runs; empty for a check of the run alone.
            sets: the pod sets of the run.
            demand: the requests of the pod sets in `before`.
        """
        exceeds_capacity = any(item.count > self._pool.suitable_nodes(item).capacity for item in sets)
        if exceeds_capacity or demand.leaves_too_little(sets):
            return True
        possible = outcomes(Board(self._pool, [*before, *sets]), self._effort)
        return possible is not None and not possible.some_place_all

    def _no_room(
        self, run: PlannedRun, sets: Sequence[PodSet], lacks: tuple[Lack, ...], before: Sequence[PodSet]
    ) -> Verdict:
        doubts = [(reason, item.role) for item in sets if item.may_use_excluded_nodes for reason in item.doubts]
        priorities = self._running | {item.priority for item in before}
        doubts += [
            ("the pods may evict pods of lower priority", item.role) for item in sets if _preempts(item, priorities)
        ]
        if doubts:
            return Verdict(run, NOT_KNOWN, doubts=_by_reason(doubts))
        return Verdict(run, DOES_NOT_FIT, lacks, competitors=tuple(dict.fromkeys(item.owner for item in before)))


def _preempts(pods: PodSet, priorities: Iterable[int | None]) -> bool:
    """Test whether the scheduler may evict a pod with one of the given priorities in favour of a set of pods.

    The scheduler evicts pods of lower priority. An unknown priority may be lower.

    https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
    """
    if pods.spec.get("preemptionPolicy") == "Never":
        return False
    return any(pods.priority is None or priority is None or priority < pods.priority for priority in priorities)


def _is_refused_for_gang(refusal: Verdict, sets: Iterable[PodSet]) -> bool:
    """Test whether the gang of a run can never start, even without the earlier runs.

    Args:
        refusal: the answer for the run.
        sets: the pod sets of the run.
    """
    gang = {item.role for item in sets if item.in_gang}
    return (
        refusal.answer == DOES_NOT_FIT and not refusal.competitors and any(lack.role in gang for lack in refusal.lacks)
    )


def _summed(lacks: Iterable[Lack]) -> tuple[Lack, ...]:
    """Add up shortages with the same role, nodes, and resource or reason. A role may have several sets of pods."""
    sums: dict[tuple[str, str, str, str], Lack] = {}
    for lack in lacks:
        key = (lack.role, lack.resource, lack.nodes, lack.reason)
        earlier = sums.get(key)
        sums[key] = (
            earlier.replaced(pods=earlier.pods + lack.pods, count=earlier.count + lack.count) if earlier else lack
        )
    return tuple(sums.values())


def _lacks(placement: Placement, set_index: int) -> Iterator[Lack]:
    """Yield the shortages that explain why pods of the set `set_index` have no node in a placement."""
    board, left = placement.board, placement.left[set_index]
    pod_set, node_indexes = board.sets[set_index], board.node_indexes[set_index]
    if not left:
        return
    if not node_indexes:
        yield Lack(pod_set.role, left, reason=_refused_by_all(board.pool, pod_set))
        return
    is_short = False
    for resource, value in pod_set.requests.items():
        room = sum(max(placement.free(node_index).get(resource, 0), 0) // value for node_index in node_indexes)
        if room < left:
            is_short = True
            yield Lack(pod_set.role, left, resource, (left - room) * value, board.pool.selection(pod_set))
    if not is_short:
        if pod_set.spreads:
            reason = "the topology spread constraints of the role allow no more pods"
        elif board.conflicts[set_index]:
            reason = "podAntiAffinity allows no more pods"
        else:
            resources = either((resource for resource in pod_set.requests if resource != PODS), "and")
            reason = f"no single node has enough {resources}"
        yield Lack(pod_set.role, left, nodes=board.pool.selection(pod_set), reason=reason)


def _refused_by_all(pool: NodePool, pod_set: PodSet) -> str:
    reasons = Counter(pool.refusals(pod_set))
    texts = [f"{count(number, 'node')} {reason}" for reason, number in reasons.most_common()]
    return "; ".join(texts) or "the cluster has no node"


def _certain(board: Board, effort: Effort) -> set[int]:
    """Return the indexes of the sets whose pods all get a node in every order of scheduling."""
    set_indexes = set(range(len(board.sets)))
    certainty = Certainty(board)
    certain = {set_index for set_index in set_indexes if certainty.always_placed(set_index)}
    if certain == set_indexes:
        return certain
    possible = outcomes(board, effort)
    if possible is not None and not possible.some_leave_over:
        return set_indexes
    priorities = {board.sets[set_index].priority for set_index in set_indexes - certain}
    return {
        set_index
        for set_index in certain
        if not any(_may_evict(priority, board.sets[set_index].priority) for priority in priorities)
    }


def _may_evict(priority: int | None, replaced: int | None) -> bool:
    """Test whether a pod with the priority `priority` may evict a pod with the priority `replaced`.

    The value None means an unknown priority.
    """
    return priority != replaced and (priority is None or replaced is None or priority > replaced)


def _acceptance(board: Board, certain: set[int], run: PlannedRun) -> Verdict:
    sets = [(set_index, item) for set_index, item in enumerate(board.sets) if item.owner == run.title]
    placement = first_fit(Board(board.pool, [item for _, item in sets]))
    doubts = [
        (reason, item.role)
        for _, item in sets
        for reason in (*item.doubts, *board.pool.doubts(item), *board.pool.volume_doubts(item, board.sets))
    ]
    for left, (set_index, item) in zip(placement.left, sets, strict=True):
        if left:
            doubts.append((f"tfgen finds no node for {left} of {count(item.count, 'pod')}", item.role))
        elif set_index not in certain:
            doubts.append(
                ("the nodes have free resources, but pods that are scheduled earlier may use them", item.role)
            )
    return Verdict(run, NOT_KNOWN, doubts=_by_reason(doubts)) if doubts else Verdict(run, FITS)


def _by_reason(doubts: Iterable[tuple[str, str]]) -> tuple[Doubt, ...]:
    """Convert pairs (reason, role) to doubts. Each reason becomes one doubt, with all roles of the reason."""
    roles: dict[str, dict[str, None]] = {}
    for reason, role in doubts:
        roles.setdefault(reason, {})[role] = None
    return tuple(Doubt(reason, tuple(of_reason)) for reason, of_reason in roles.items())


def _waiting(cluster: Cluster, readers: LabelReaders) -> Iterator[PodTemplate]:
    """Yield templates of the pods in the cluster that wait for a node. Equal pods share a template."""
    templates: dict[str, PodTemplate] = {}
    for pod in cluster.waiting:
        labels = {key: value for key, value in (pod["metadata"].get("labels") or {}).items() if key in readers.keys}
        spec = {key: value for key, value in pod["spec"].items() if key not in _OF_ONE_POD}
        template = PodTemplate("", pod["metadata"]["name"], namespace_of(pod), labels, spec, 1)
        key = repr((template.namespace, sorted(labels.items()), spec))
        earlier = templates.setdefault(key, template.replaced(count=0))
        templates[key] = earlier.replaced(count=earlier.count + 1)
    yield from templates.values()
