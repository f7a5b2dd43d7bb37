"""How a run is: what a cluster has of it beside what job.yaml says.

judge(run, snapshot)  ->  RunState(phase="Pending", roles=(RoleState("worker", wanted=4, ready=3, ...), ...), why=(...))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from tfgen.kubernetes.object import Object
from tfgen.live.log_text import last_step
from tfgen.live.missed_start import missed_start
from tfgen.live.run_end import End, end_of, is_suspended
from tfgen.live.snapshot import Snapshot
from tfgen.live.task_counts import differences, live_gang_size, live_task_counts
from tfgen.live.task_errors import TaskError, failed_pods, task_errors
from tfgen.live.task_state import ENDED, Reason, TaskState, index_of, role_of, task_state, task_states
from tfgen.live.wanted_run import WantedRun
from tfgen.live.workload import KIND, queue_of, queue_reason, workload_of
from tfgen.plural import count
from tfgen.record import Record

Phase: TypeAlias = Literal[
    "Disabled", "Absent", "Suspended", "Pending", "Partial", "Running", "Succeeded", "Failed", "NotStarted"
]
"""Disabled: the job is not to run there. Absent: the cluster has nothing of it. Suspended: it is held back. Pending:
the task that leads it does not run. Partial: that task runs, and another one does not. Then as of a pod. NotStarted:
the finisher released the run at its start deadline."""

_MASTER: Final = "master"
_UNREADY: Final = "Unhealthy"
"""The reason of the kubelet's event for a probe that failed."""


class RoleState(Record):
    """The tasks of one role.

    Attributes:
        wanted: the number of tasks that the objects in the cluster ask for.
        tasks: those that have a pod.
    """

    role: str
    wanted: int
    tasks: tuple[TaskState, ...]

    @property
    def ready(self) -> int:
        """How many are ready, or have ended well."""
        return sum(task.is_ready or task.has_succeeded for task in self.tasks)

    @property
    def restarts(self) -> int:
        """How often its tasks were started again."""
        return sum(task.restarts for task in self.tasks)


class Why(Record):
    """Why a part of a run is not as it is to be.

    Attributes:
        subjects: the tasks, or the objects, of which it is true.
    """

    subjects: tuple[str, ...]
    reason: Reason


class RunState(Record):
    """How a run is.

    Attributes:
        namespace: where it was looked for.
        since: when the object by whose end it ends was made, as Kubernetes writes times; empty where it is not there.
        end: how it ended; None while it goes on.
        why: what it waits for, or fails of.
        gpus: how many its pods hold.
        finisher: how the Job is that releases its tasks; empty where it has none.
        finisher_log: the last line of the finisher's log; empty where nobody read the log.
        held: the roles that hold their nodes although the run has ended.
        step: the last that the leading task's log names; None where it names none.
        differences: the numbers that differ between the cluster and job.yaml.
        unseen: what could not be looked at.
        errors: the usual errors of the tasks that failed.
        is_stuck: whether the finisher has freed no node for so long that it cannot work; `tfgen wait` sets it.
    """

    run: WantedRun
    namespace: str
    phase: Phase
    since: str
    end: End | None
    roles: tuple[RoleState, ...]
    why: tuple[Why, ...]
    gpus: int
    finisher: str
    finisher_log: str
    held: tuple[str, ...]
    step: int | None
    differences: tuple[str, ...]
    unseen: tuple[str, ...]
    errors: tuple[TaskError, ...] = ()
    is_stuck: bool = False

    @property
    def tasks_on_nodes(self) -> int:
        """The number of tasks that hold a node."""
        return sum(task.holds_node for role in self.roles for task in role.tasks)

    @property
    def is_releasing(self) -> bool:
        """Return whether the run has succeeded, and the finisher still has to free nodes.

        A running finisher waits for the grace of an evaluator. The node of the evaluator does not count until then.
        """
        is_over = self.end is not None and self.end.result == "Succeeded"
        roles = [role for role in self.held if role != "evaluator" or self.finisher != "Releasing"]
        return is_over and bool(roles) and self.finisher not in ("", "Complete")


def judge(run: WantedRun, snapshot: Snapshot, namespace: str) -> RunState:
    """How a run is, by what its cluster has."""
    pods = snapshot.pods_of(run)
    states = task_states(pods)
    roles = _roles(live_task_counts(run, snapshot), states)
    lead = snapshot.objects.get(run.end) if run.end else None
    end = (end_of(lead) if lead else None) or missed_start(run, snapshot)
    leader = leading_pod(run, snapshot)
    return RunState(
        run=run,
        namespace=namespace,
        phase=_phase(run, lead, end, roles),
        since=lead["metadata"]["creationTimestamp"] if lead else "",
        end=end,
        roles=roles,
        why=tuple(_group(_why(run, snapshot, roles, end))),
        gpus=sum(task.gpus for task in states),
        finisher=_finisher(run, snapshot, end),
        finisher_log=(snapshot.log_of_finisher(run).splitlines() or [""])[-1],
        held=tuple(role.role for role in roles if end and any(task.holds_node for task in role.tasks)),
        step=last_step(snapshot.logs.get(leader["metadata"]["name"], "")) if leader else None,
        differences=tuple(differences(run, snapshot)),
        unseen=snapshot.unseen,
        errors=tuple(task_errors(failed_pods(run, snapshot), snapshot.logs)),
    )


def leading_role(run: WantedRun) -> str:
    """The role whose first task leads the training: the chief, or without one the workers."""
    return next((role for role in ("chief", "worker") if role in run.roles), _MASTER)


def leading_pod(run: WantedRun, snapshot: Snapshot) -> Object | None:
    """The newest pod of the task that leads the training."""
    role = leading_role(run)
    own = [pod for pod in snapshot.pods_of(run) if role_of(pod) == role and index_of(pod) == 0]
    return max(own, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)


def _roles(counts: Mapping[str, int], states: Sequence[TaskState]) -> tuple[RoleState, ...]:
    return tuple(
        RoleState(role, number, tuple(state for state in states if state.role == role))
        for role, number in counts.items()
    )


def _phase(run: WantedRun, lead: Object | None, end: End | None, roles: Sequence[RoleState]) -> Phase:
    if not run.is_enabled:
        return "Disabled"
    if end:
        return end.result
    if lead is None:
        return "Absent"
    if is_suspended(lead):
        return "Suspended"
    first = leading_role(run)
    leaders = [task for role in roles if role.role == first for task in role.tasks if task.index == 0]
    if not any(task.is_ready or task.has_succeeded for task in leaders):  # its Job ends a moment after the task
        return "Pending"
    return "Running" if all(role.ready >= role.wanted for role in roles) else "Partial"


def _why(run: WantedRun, snapshot: Snapshot, roles: Sequence[RoleState], end: End | None) -> Iterator[Why]:
    """Yield the reasons for the state of a run, each for one subject."""
    if not run.is_enabled:
        yield from _retired_reason(roles)
        return
    match end:
        case End(result="NotStarted"):
            yield from _end_reason(run, end)
        case End(result="Succeeded"):
            yield from _finisher_reasons(run, snapshot)
        case _:
            yield from _reasons(run, snapshot, roles)
            yield from _finisher_reasons(run, snapshot)
            if end:
                yield from _end_reason(run, end)


def _retired_reason(roles: Sequence[RoleState]) -> Iterator[Why]:
    subjects = tuple(role.role for role in roles if any(task.holds_node for task in role.tasks))
    if subjects:
        yield Why(
            subjects, Reason("Disabled", "the job is retired there, and its tasks run on; tfgen delete ends them")
        )


def _end_reason(run: WantedRun, end: End) -> Iterator[Why]:
    if run.end:
        yield Why((f"{run.end[1]} {run.end[2]}",), Reason(end.result, end.message))


def _reasons(run: WantedRun, snapshot: Snapshot, roles: Sequence[RoleState]) -> Iterator[Why]:
    """All that keeps the run from its end, each for one subject."""
    yield from _gang_reasons(run, snapshot)
    yield from _queue_reasons(run, snapshot)
    by_name = {pod["metadata"]["name"]: pod for pod in snapshot.pods_of(run)}
    for role in roles:
        for task in role.tasks:
            reason = task.reason
            if not task.is_ready and not task.has_succeeded and reason is None:
                reason = _warning(snapshot, by_name[task.pod])
            if reason:
                yield Why((task.task,), reason)
        controller = run.controllers.get(role.role)
        item = snapshot.objects.get(controller) if controller else None
        if item and len(role.tasks) < role.wanted and not is_suspended(item) and not end_of(item):
            warning = _warning(snapshot, item)
            if warning:
                yield Why((role.role,), warning)
    for claim in run.claims:
        item = snapshot.objects.get(claim)
        if item and item.get("status", {}).get("phase") != "Bound":
            reason = _warning(snapshot, item) or Reason(
                item.get("status", {}).get("phase", "Pending"), "it has no volume"
            )
            yield Why((f"claim {claim[2]}",), reason)


def _finisher_reasons(run: WantedRun, snapshot: Snapshot) -> Iterator[Why]:
    """Yield the reason why the finisher cannot work: its Job has no pod, or its pod does not run."""
    item = snapshot.objects.get(run.finisher) if run.finisher else None
    if item is None or end_of(item):
        return
    pod = snapshot.finisher_pod(run)
    state = task_state(pod) if pod else None
    if state is None or not state.is_ready:
        reason = (state.reason if state else None) or _warning(snapshot, pod or item) or _warning(snapshot, item)
        if reason:
            yield Why(("finisher",), reason)


def _gang_reasons(run: WantedRun, snapshot: Snapshot) -> Iterator[Why]:
    """Whether the gang waits, and for how many: its scheduler starts none before it has room for all."""
    if run.gang is None or run.gang[0] not in snapshot.objects:
        return
    identity, size = run.gang[0], live_gang_size(run, snapshot)
    pods = [pod for pod in snapshot.pods_of(run) if role_of(pod) in run.roles and role_of(pod) != "evaluator"]
    placed = sum("nodeName" in pod["spec"] or pod["status"].get("phase") in ENDED for pod in pods)
    if placed < size:
        status = snapshot.objects[identity].get("status") or {}
        conditions = [item for item in status.get("conditions") or () if item.get("status") == "True"]
        text = f"{placed} of {count(size, 'pod')} have a node; it waits for {size - placed} more"
        message = next((item["message"] for item in conditions if item["type"] == "Unschedulable"), "")
        yield Why(
            (f"gang {identity[2]}",), Reason(status.get("phase", "Pending"), f"{text}{': ' * bool(message)}{message}")
        )


def _queue_reasons(run: WantedRun, snapshot: Snapshot) -> Iterator[Why]:
    """Yield the reason why a run waits in a queue of Kueue."""
    lead = snapshot.objects.get(run.end) if run.end else None
    if lead is None or not queue_of(lead) or any(KIND in text for text in snapshot.unseen):
        return
    reason = queue_reason(lead, workload_of(lead, snapshot.workloads))
    if reason:
        yield Why((f"queue {queue_of(lead)}",), reason)


def _warning(snapshot: Snapshot, item: Object) -> Reason | None:
    event = snapshot.warning_of(item)
    return Reason(event.get("reason", "Warning"), event.get("message", "")) if event else None


def _group(reasons: Iterable[Why]) -> Iterator[Why]:
    """The same reason of several subjects as one; a failed probe comes last, since it follows from another reason."""
    groups: dict[Reason, list[str]] = {}
    for why in sorted(reasons, key=lambda why: why.reason.word == _UNREADY):
        groups.setdefault(why.reason, []).extend(why.subjects)
    yield from (Why(tuple(subjects), reason) for reason, subjects in groups.items())


def _finisher(run: WantedRun, snapshot: Snapshot, run_end: End | None) -> str:
    """The state of the Job that releases the run's tasks: Waiting for the run's end, and then Releasing them."""
    if run.finisher is None:
        return ""
    item = snapshot.objects.get(run.finisher)
    if item is None:
        return "Absent"
    end = end_of(item)
    if end:
        return {"Succeeded": "Complete", "Failed": "Failed"}[end.result]
    pod = snapshot.finisher_pod(run)
    if not item.get("status", {}).get("active") or (pod and not task_state(pod).is_ready):
        return "Pending"
    return "Releasing" if run_end else "Waiting"
