"""Decides whether runs fit on a cluster. The answers are `fits`, `fits in one order`, `does not fit` and `not known`.

The answer `does not fit` includes the shortage, and the answer `not known` includes the missing object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from tfgen.kubernetes.object import Object
from tfgen.record import Record
from tfgen.scheduling.admission import PodSet, Quotas, mounts_of, pod_set
from tfgen.scheduling.cluster import Cluster, namespace_of
from tfgen.scheduling.devices import Devices
from tfgen.scheduling.nodes import NodePool
from tfgen.scheduling.place import Board, Certainty, Demand, NodeSlots, Placement, node_slots
from tfgen.scheduling.pods import PODS, LabelReaders, PodTemplate, split
from tfgen.words import count, either

Answer: TypeAlias = Literal["fits", "fits in one order", "does not fit", "not known"]

FITS: Final = "fits"
FITS_IN_ONE_ORDER: Final = "fits in one order"
DOES_NOT_FIT: Final = "does not fit"
NOT_KNOWN: Final = "not known"

_OF_ONE_POD: Final = ("hostname",)
"""Fields of a PodSpec that may differ between equal pods, because the scheduler does not read these fields."""
_EARLIER: Final = "pods that the scheduler places earlier may take the room"
_EVICTED: Final = "pods of higher priority may evict the pods"
_CONTESTED: Final = "another run may use up the ResourceQuota"


class PlannedRun(Record):
    """A run whose pods need nodes.

    Attributes:
        title: the unique title of the run.
        new_objects: the objects that the run creates, except for pods. The cluster, as far as tfgen knows the cluster,
            has none of them.
        replaced_pods: the namespace and the PodSpec of each existing pod of the run. A pod of the plan takes its place.
        earlier_pods: the number of pods on nodes that belong to an earlier run of the job.
    """

    title: str
    pods: tuple[PodTemplate, ...]
    new_objects: tuple[Object, ...] = ()
    replaced_pods: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    earlier_pods: int = 0


class Lack(Record):
    """The shortage that leaves pods of a role without a node.

    Attributes:
        role: the role; empty if Kubernetes refuses an object of the run.
        pods: the number of the role's pods without a node.
        resource: the scarce resource; empty if the reason is not a resource.
        count: the missing amount of the resource, in the units of the module `pods`.
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
    """A reason, in words, why pods may get no node, and the roles of these pods.

    Without a role, the reason is about the objects of the run.
    """

    reason: str
    roles: tuple[str, ...]


class Verdict(Record):
    """The answer of `tfgen plan` for one run.

    Attributes:
        lacks: the shortages, if the run does not fit.
        doubts: the reasons why the answer is `not known` or `fits in one order`.
        competitors: the titles of the earlier runs that leave no room for the run; empty if the run does not fit even
            without the earlier runs.
        assumptions: what tfgen assumes because the cluster or the file lacks an object, in words.
    """

    run: PlannedRun
    answer: Answer
    lacks: tuple[Lack, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    competitors: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()


class Plan(Record):
    """The answers for all runs, and a possible placement of the pods.

    Attributes:
        verdicts: the answers, in the order of the runs.
        nodes: the nodes with the placed pods. tfgen places the waiting pods of the cluster first, then the runs in
            order, and each pod on the first node with room. A gang that can never start is not placed.
        left_out: the names of the nodes without `status.allocatable`, which the plan ignores.
    """

    verdicts: tuple[Verdict, ...]
    nodes: tuple[NodeSlots, ...]
    left_out: tuple[str, ...] = ()


def plan_placement(cluster: Cluster, runs: Sequence[PlannedRun]) -> Plan:
    """Return the answer for each run, and a possible placement of the pods.

    A run fits if all its pods certainly get a node in every order of scheduling. A run does not fit if the free
    resources are certainly too small for the run alone, or for the run together with the earlier runs. A run fits in
    one order if all its pods get a node after the pods of the earlier runs, each on the first node with room. The pods
    that already wait in the cluster are part of each order of scheduling.
    """
    running = [pod for node in cluster.nodes for pod in node.pods]
    waiting = (pod["spec"] for pod in cluster.waiting)
    specs = (template.spec for run in runs for template in run.pods)
    readers = LabelReaders([*specs, *(pod.spec for pod in running if pod.spec.get("affinity")), *waiting])
    planned_pods, waiting_pods = [template for run in runs for template in run.pods], [*_waiting(cluster, readers)]
    mounts = mounts_of(planned_pods)
    devices = Devices(cluster, ((template.namespace, template.spec) for template in (*planned_pods, *waiting_pods)))
    cluster = cluster.replaced(nodes=devices.nodes())
    sets = {
        run.title: [
            pod_set(part, cluster, mounts, devices.claimed(part.namespace, part.spec))
            for template in run.pods
            if template.count
            for part in split(template, readers)
        ]
        for run in runs
    }
    pool = NodePool(cluster)
    queue = _Queue(cluster, pool, [item for of_run in sets.values() for item in of_run], runs)
    refusals = {run.title: queue.refusal(run, sets[run.title]) for run in runs}
    for run in runs:
        refusal = refusals[run.title]
        is_refused = refusal is not None and _is_refused_for_gang(refusal, sets[run.title])
        sets[run.title] = [item for item in sets[run.title] if not item.obstacles and not (is_refused and item.in_gang)]
    waiting_sets = [pod_set(item, cluster, claimed=devices.claimed(item.namespace, item.spec)) for item in waiting_pods]
    board = Board(pool, [*(item for of_run in sets.values() for item in of_run), *waiting_sets])
    risks = _risks(board)
    placement = Placement(board)
    for owner in ("", *sets):
        placement.fit(index for index, item in enumerate(board.sets) if item.owner == owner and not item.obstacles)
    verdicts = tuple(refusals[run.title] or queue.acceptance(run, board, risks) for run in runs)
    return Plan(verdicts, node_slots(placement, devices.others), cluster.unready)


class _Queue:
    """Evaluator of the runs of a plan. The caller calls `refusal` once for each run, in the order of the runs.

    Each run that `refusal` does not refuse takes room from the later runs.
    """

    def __init__(self, cluster: Cluster, pool: NodePool, sets: Sequence[PodSet], runs: Iterable[PlannedRun]) -> None:
        self._cluster, self._pool = cluster, pool
        self._board = Board(pool, sets)
        self._placement = Placement(self._board)
        self._set_indexes = {id(item): set_index for set_index, item in enumerate(sets)}
        self._before: list[PodSet] = []
        self._demand = Demand(self._board)
        self._running = {cluster.priority(pod.spec) for node in cluster.nodes for pod in node.pods}
        self._replaced = [item for run in runs for item in run.replaced_pods]
        self._quotas = Quotas(cluster, self._replaced)
        self._contested: set[str] = set()
        self._unplaced: dict[str, dict[str, int]] = {}
        self._object_doubts: dict[str, list[str]] = {}

    def refusal(self, run: PlannedRun, sets: Sequence[PodSet]) -> Verdict | None:
        """Return the answer for a run that does not fit; None if the run may fit."""
        lacks = _summed(Lack(item.role, item.count, reason=reason) for item in sets for reason in item.obstacles[:1])
        refusal = self._over_quota(run, [item for item in sets if not item.obstacles])
        if lacks:
            refusal = Verdict(run, DOES_NOT_FIT, lacks)
        elif refusal is None:
            refusal = self._without_room(run, sets)
        if refusal is None:
            restricted = [item for item in sets if not item.escapes]
            self._before += restricted
            self._demand.add(self._set_indexes[id(item)] for item in restricted)
            self._placement.withdraw(self._set_indexes[id(item)] for item in sets if item.escapes)
        return refusal

    def acceptance(self, run: PlannedRun, board: Board, risks: Mapping[int, str]) -> Verdict:
        """Return the answer for a run that `refusal` does not refuse.

        Args:
            run: the run.
            board: the pods of all runs, and the pods that wait in the cluster.
            risks: the reason why the pods of a set may get no node, by index of the set on the board.
        """
        sets = [(set_index, item) for set_index, item in enumerate(board.sets) if item.owner == run.title]
        doubts = [
            (reason, item.role)
            for _, item in sets
            for reason in (*item.doubts, *self._pool.doubts(item), *self._pool.volume_doubts(item, board.sets))
        ]
        doubts += [(reason, "") for reason in self._object_doubts[run.title]]
        for role, left in self._unplaced.get(run.title, {}).items():
            total = sum(item.count for _, item in sets if item.role == role)
            doubts.append((f"tfgen finds no node for {left} of {count(total, 'pod')}", role))
        orders = [(risks[set_index], item.role) for set_index, item in sets if set_index in risks]
        orders += [(_CONTESTED, item.role) for _, item in sets if run.title in self._contested]
        answer: Answer = NOT_KNOWN if doubts else FITS_IN_ONE_ORDER if orders else FITS
        assumptions = tuple(dict.fromkeys(text for _, item in sets for text in item.assumptions))
        return Verdict(run, answer, doubts=_by_reason(doubts or orders), assumptions=assumptions)

    def _over_quota(self, run: PlannedRun, sets: Sequence[PodSet]) -> Verdict | None:
        """Return the answer for a run whose pods or objects the namespace refuses; None if the namespace has room."""
        lacks, self._object_doubts[run.title] = _refused_by_quota(self._quotas, run, sets)
        if not lacks:
            return None
        alone, _ = _refused_by_quota(Quotas(self._cluster, self._replaced), run, sets)
        if alone:
            return Verdict(run, DOES_NOT_FIT, alone)
        namespaces = {item.namespace for item in sets}
        competitors = tuple(dict.fromkeys(item.owner for item in self._before if item.namespace in namespaces))
        self._contested.update(competitors)
        return Verdict(run, DOES_NOT_FIT, lacks, competitors=competitors)

    def _without_room(self, run: PlannedRun, sets: Sequence[PodSet]) -> Verdict | None:
        """Return the answer for a run for which the nodes certainly lack room; None if the run may fit."""
        set_indexes = [self._set_indexes[id(item)] for item in sets]
        self._placement.fit(set_indexes)
        lacks = _all_lacks(self._placement, set_indexes)
        if not lacks:
            return None
        alone = Placement(self._board)
        alone.fit(set_indexes)
        lacks_alone = _all_lacks(alone, set_indexes)
        if lacks_alone and Demand(self._board).leaves_too_little(set_indexes):
            refusal = self._no_room(run, sets, lacks_alone, ())
        elif self._before and self._demand.leaves_too_little(set_indexes):
            refusal = self._no_room(run, sets, lacks, self._before)
        else:
            unplaced: Counter[str] = Counter()
            for index, item in zip(set_indexes, sets, strict=True):
                unplaced[item.role] += self._placement.left[index]
            self._unplaced[run.title] = +unplaced
            return None
        self._placement.withdraw(set_indexes)
        return refusal

    def _no_room(
        self, run: PlannedRun, sets: Sequence[PodSet], lacks: tuple[Lack, ...], before: Sequence[PodSet]
    ) -> Verdict:
        doubts = [(reason, item.role) for item in sets for reason in item.escapes]
        priorities = self._running | {item.priority for item in before}
        evicts = "the pods may evict pods of lower priority"
        doubts += [(evicts, item.role) for item in sets if _preempts(item, priorities)]
        if doubts:
            return Verdict(run, NOT_KNOWN, doubts=_by_reason(doubts))
        return Verdict(run, DOES_NOT_FIT, lacks, competitors=tuple(dict.fromkeys(item.owner for item in before)))


def _refused_by_quota(quotas: Quotas, run: PlannedRun, sets: Iterable[PodSet]) -> tuple[tuple[Lack, ...], list[str]]:
    """Take the amounts of a run, and return the shortages, and the reasons why a quota may refuse objects."""
    certain, possible = quotas.take_objects(run.new_objects)
    lacks = [Lack("", 0, reason=reason) for reason in certain]
    for item in sets:
        refused, reason = quotas.take(item)
        if refused:
            lacks.append(Lack(item.role, refused, reason=reason))
    return _summed(lacks), possible


def _all_lacks(placement: Placement, set_indexes: Iterable[int]) -> tuple[Lack, ...]:
    return _summed(lack for set_index in set_indexes for lack in _lacks(placement, set_index))


def _preempts(pods: PodSet, priorities: Iterable[int | None]) -> bool:
    """Test whether the scheduler may evict a pod with one of the given priorities in favour of a set of pods.

    The scheduler evicts pods of lower priority. An unknown priority may be lower.

    https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
    """
    own = pods.priority
    return pods.may_preempt and any(own is None or other is None or other < own for other in priorities)


def _is_refused_for_gang(refusal: Verdict, sets: Iterable[PodSet]) -> bool:
    """Test whether the gang of a run can never start, even without the earlier runs.

    Args:
        refusal: the answer for the run.
        sets: the pod sets of the run.
    """
    gang = {item.role for item in sets if item.in_gang}
    is_alone = refusal.answer == DOES_NOT_FIT and not refusal.competitors
    return is_alone and any(lack.role in gang for lack in refusal.lacks)


def _summed(lacks: Iterable[Lack]) -> tuple[Lack, ...]:
    """Add up shortages with the same role, nodes, and resource or reason. A role may have several sets of pods."""
    sums: dict[tuple[str, str, str, str], Lack] = {}
    for lack in lacks:
        key = (lack.role, lack.resource, lack.nodes, lack.reason)
        pods, number = (sums[key].pods, sums[key].count) if key in sums else (0, 0)
        sums[key] = lack.replaced(pods=pods + lack.pods, count=number + lack.count)
    return tuple(sums.values())


def _lacks(placement: Placement, set_index: int) -> Iterator[Lack]:
    """Yield the shortages that explain why pods of the set `set_index` have no node in a placement."""
    board, left = placement.board, placement.left[set_index]
    pod_set, node_indexes = board.sets[set_index], board.node_indexes[set_index]
    if not left:
        return
    if not node_indexes:
        reasons = Counter(board.pool.refusals(pod_set)).most_common()
        texts = [f"{count(number, 'node')} {reason}" for reason, number in reasons]
        yield Lack(pod_set.role, left, reason="; ".join(texts) or "the cluster has no node")
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
        elif pod_set.host_ports:
            reason = "each pod needs a node of its own, because the pods use ports of the node"
        elif board.conflicts[set_index]:
            reason = "podAntiAffinity allows no more pods"
        else:
            resources = either((resource for resource in pod_set.requests if resource != PODS), "and")
            reason = f"no single node has enough {resources}"
        yield Lack(pod_set.role, left, nodes=board.pool.selection(pod_set), reason=reason)


def _risks(board: Board) -> dict[int, str]:
    """Return the reason why the pods of a set may get no node, by index of the set. Omit the sets without a risk."""
    certainty = Certainty(board)
    risks = {index: _EARLIER for index in range(len(board.sets)) if not certainty.always_placed(index)}
    rivals = [(board.sets[index], board.suitable_nodes[index].nodes) for index in risks]
    for index, item in enumerate(board.sets):
        nodes = board.suitable_nodes[index].nodes
        near = [rival for rival, within in rivals if nodes & within and rival.priority != item.priority]
        if index not in risks and any(_preempts(rival, [item.priority]) for rival in near):
            risks[index] = _EVICTED
    return risks


def _by_reason(doubts: Iterable[tuple[str, str]]) -> tuple[Doubt, ...]:
    """Convert pairs (reason, role) to doubts. Each reason becomes one doubt, with all roles of the reason."""
    roles: dict[str, dict[str, None]] = {}
    for reason, role in doubts:
        roles.setdefault(reason, {})[role] = None
    return tuple(Doubt(reason, tuple(filter(None, of_reason))) for reason, of_reason in roles.items())


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
