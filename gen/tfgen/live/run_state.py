"""The state of a run: its phase, the ready tasks of each role, and the reasons why the run waits or fails."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from tfgen import data_path
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, creation_time
from tfgen.live.api import Api, brief_reason
from tfgen.live.run import (
    APPLICATION,
    DeclaredRun,
    End,
    Snapshot,
    StatusReason,
    condition,
    end_of,
    end_of_run,
    is_suspended,
)
from tfgen.live.tasks import (
    ENDED,
    TERMINATING,
    LostNode,
    TaskError,
    TaskState,
    differences,
    failed_pods,
    index_of,
    live_gang_size,
    live_task_counts,
    lost_nodes,
    role_of,
    task_counts,
    task_errors,
    task_state,
    task_states,
)
from tfgen.live.template_edits import TemplateEdit, template_edits
from tfgen.record import Record
from tfgen.words import count, listed, printable

WORKLOAD: Final = "Workload"
_VERSIONS: Final = ("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1")
"""Versions of Kueue's API, the newest first. Each version has all fields that this module reads."""


def workload_kind(api: Api) -> tuple[str, str]:
    """Return the API version and the kind of Kueue's Workload, such as ("kueue.x-k8s.io/v1beta1", "Workload").

    The API version is the newest version that both tfgen and the cluster support. For a cluster without Kueue, return
    the newest version that tfgen supports.
    """
    return next((version for version in _VERSIONS if api.resource(version, WORKLOAD)), _VERSIONS[0]), WORKLOAD


def query_parameters(items: Iterable[Object]) -> Mapping[str, str]:
    """Return the query parameters of a request that lists the Workloads of the given objects.

    Example: {"labelSelector": "kueue.x-k8s.io/job-uid in (c6f0..., e1b2...)"}.
    """
    uids = ",".join(sorted(item["metadata"]["uid"] for item in items))
    return {"labelSelector": f"{keys.QUEUED_OBJECT} in ({uids})"}


def workload_of(item: Object, workloads: Iterable[Object]) -> Object | None:
    """Return the newest Workload of an object; None for an object without a Workload."""
    uid = item["metadata"]["uid"]
    matches = [item for item in workloads if item["metadata"].get("labels", {}).get(keys.QUEUED_OBJECT) == uid]
    return max(matches, key=creation_time, default=None)


def queue_of(item: Object) -> str:
    """Return the name of the Kueue queue in an object's label; empty for an object without a queue."""
    return str((item["metadata"].get("labels") or {}).get(keys.QUEUE, ""))


def queue_reason(item: Object, workload: Object | None) -> StatusReason | None:
    """Return the reason why an object waits in the queue; None after Kueue has admitted the object."""
    if workload is None:
        text = "Kueue has created no Workload; check that Kueue runs and manages this kind of object"
        return StatusReason("NoWorkload", text) if is_suspended(item) else None
    admitted, reserved, evicted = (condition(workload, kind) for kind in ("Admitted", "QuotaReserved", "Evicted"))
    if "True" in (admitted.get("status"), condition(workload, "Finished").get("status")):
        return None
    if (workload.get("spec") or {}).get("active") is False:
        return StatusReason("Deactivated", evicted.get("message") or "the Workload is inactive")
    if reserved.get("status") == "True":
        checks = [each for each in workload["status"].get("admissionChecks") or () if each["state"] != "Ready"]
        texts = "; ".join(f"{check['name']}: {check.get('message') or check['state']}" for check in checks)
        text = f"the quota is reserved; the Workload waits for {texts or 'the admission checks'}"
        return _workload_reason(admitted) or StatusReason("QuotaReserved", text)
    waiting = _workload_reason(reserved)
    if evicted.get("status") == "True":
        message = evicted.get("message", "")
        suffix = f"; {waiting.message}" if waiting and waiting.message != message else ""
        return StatusReason("Evicted", f"{evicted.get('reason', '')}: {message}{suffix}")
    return waiting or StatusReason("Pending", "Kueue has not processed the Workload yet")


def _workload_reason(entry: Mapping[str, Any]) -> StatusReason | None:
    return StatusReason(entry.get("reason", entry["type"]), entry.get("message", "")) if entry else None


_NOISE: Final = re.compile(
    r"\AHelm \w+ failed for release \S+ with chart \S+: |error when \w+ \"[^\"]*\": |\.? Retrying attempt #.*",
    re.DOTALL,
)
"""Parts of a message that repeat the name of the release, or change with each retry."""


def delivery_reason(item: Object) -> StatusReason | None:
    """Return the reason why a GitOps tool cannot apply a commit; None while the tool has no error."""
    if item["kind"] == APPLICATION[1]:
        status: Mapping[str, Any] = item.get("status") or {}
        error = next((each for each in status.get("conditions") or () if each["type"].endswith("Error")), None)
        return _tool_reason(error["type"], error) if error else _sync_reason(status)
    # While Flux retries an upgrade, the condition Ready contains only the time of the next try.
    failed = (each for each in (condition(item, "Released"), condition(item, "Ready")) if each.get("status") == "False")
    return next((_tool_reason(each["reason"], each) for each in failed), None)


def _sync_reason(status: Mapping[str, Any]) -> StatusReason | None:
    """Return the reason why the last sync of an Application failed.

    If the cluster has the newest commit, the failure of an earlier commit is no reason.
    """
    operation: Mapping[str, Any] = status.get("operationState") or {}
    is_failed = operation.get("phase") in ("Failed", "Error") or operation.get("retryCount")
    if not is_failed or (status.get("sync") or {}).get("status") == "Synced":
        return None
    results: Sequence[Mapping[str, Any]] = (operation.get("syncResult") or {}).get("resources") or ()
    failed = sorted(
        (each for each in results if each.get("status") == "SyncFailed"), key=lambda each: (each["kind"], each["name"])
    )
    if not failed:
        return _tool_reason("SyncFailed", operation)
    first = failed[0]
    others = f"; Argo CD could not apply {count(len(failed) - 1, 'more object')}" if len(failed) > 1 else ""
    return StatusReason(
        "SyncFailed", f"{first['kind']} {first['name']}: {_tool_reason('SyncFailed', first).message}{others}"
    )


def _tool_reason(word: str, item: Mapping[str, Any]) -> StatusReason:
    """Return a reason with the message of a condition, an operation or a result."""
    message = _NOISE.sub("", item.get("message") or "").strip()
    return StatusReason(word, brief_reason({"message": message}) if message else "")


Phase: TypeAlias = Literal[
    "Disabled", "Absent", "Suspended", "Pending", "Partial", "Running", "Succeeded", "Failed", "NotStarted"
]
"""The phase of a run:

- Disabled: the job is retired in the environment.
- Absent: the cluster has neither the object that decides when the run ends, nor a pod of a task.
- Suspended: a queue, a finisher or a user has suspended the run.
- Pending: the leading task does not run.
- Partial: the leading task runs, but another task does not.
- Running, Succeeded and Failed: as for a pod.
- NotStarted: the finisher released the run at the start deadline.
"""

_STEP: Final = re.compile(r"\b(?:global[ _])?step\b[ :=/]*(\d+)", re.IGNORECASE)


class RoleState(Record):
    """The state of a role's tasks.

    Attributes:
        requested: number of tasks that the objects in the cluster request.
        tasks: the states of the tasks that have a pod.
    """

    role: str
    requested: int
    tasks: tuple[TaskState, ...]

    @property
    def ready(self) -> int:
        """Return the number of tasks that are ready or have succeeded."""
        return sum(task.is_ready or task.has_succeeded for task in self.tasks)

    @property
    def restarts(self) -> int:
        """Return the sum of the restarts of all tasks."""
        return sum(task.restarts for task in self.tasks)


class Cause(Record):
    """The reason why tasks or objects of a run do not work.

    Attributes:
        subjects: names of the tasks or objects to which the reason applies.
    """

    subjects: tuple[str, ...]
    reason: StatusReason

    def __str__(self) -> str:
        """Return the reason in a single line: "worker-3: Unschedulable: 0/3 nodes are available"."""
        message = f": {printable(self.reason.message)}" if self.reason.message else ""
        return f"{listed(self.subjects, most=6)}: {self.reason.word}{message}"


class RunState(Record):
    """The state of a run.

    Attributes:
        namespace: namespace of the run.
        since: creation time, in Kubernetes' format, of the object that decides when the run ends; empty if there is no
            such object.
        end: end of the run; None while the run continues.
        causes: reasons why the run waits or fails.
        gpus: number of GPUs that the run's pods use.
        finisher: state of the finisher's Job in one word; empty for a run without a finisher.
        finisher_log: last line of the finisher's log; empty if tfgen did not read the log.
        unreleased: roles whose pods occupy nodes although the run has ended.
        step: last training step in the leading task's log; None without a step.
        differences: messages such as "worker: the cluster has 3 tasks, but job.yaml sets 4".
        edits: fields of containers that somebody changed in the cluster without a new hash of the pod template.
        unreadable: messages about the kinds and the logs that tfgen could not read. Each message contains the reason.
        errors: common training errors that the logs of the failed tasks contain.
        lost: nodes that are not ready and to which pods of the run are assigned.
        is_stuck: whether the finisher has not freed nodes for a long time, although the run has ended. Only `tfgen
            wait` sets this field.
        is_deleted: whether the run was deleted before its end. Only a command that reads the state repeatedly sets this
            field.
    """

    run: DeclaredRun
    namespace: str
    phase: Phase
    since: str
    end: End | None
    roles: tuple[RoleState, ...]
    causes: tuple[Cause, ...]
    gpus: int
    finisher: str
    finisher_log: str
    unreleased: tuple[str, ...]
    step: int | None
    differences: tuple[str, ...]
    unreadable: tuple[str, ...]
    errors: tuple[TaskError, ...] = ()
    lost: tuple[LostNode, ...] = ()
    edits: tuple[TemplateEdit, ...] = ()
    is_stuck: bool = False
    is_deleted: bool = False

    @property
    def is_missing(self) -> bool:
        """Return True if the cluster does not have the object that decides when the run ends."""
        return not self.since

    @property
    def tasks_on_nodes(self) -> int:
        """Return the number of tasks whose pods occupy a node."""
        return sum(task.holds_node for role in self.roles for task in role.tasks)

    @property
    def is_releasing(self) -> bool:
        """Return True if the run has succeeded and the finisher still has to free nodes.

        A running finisher lets the evaluator continue for a grace period. During this period, the evaluator's node does
        not count as a node to free.
        """
        is_over = self.end is not None and self.end.result == "Succeeded"
        roles = [role for role in self.unreleased if role != "evaluator" or self.finisher != "Releasing"]
        return is_over and bool(roles) and self.finisher not in ("", "Complete")


def state_of_run(run: DeclaredRun, snapshot: Snapshot, namespace: str) -> RunState:
    """Return the state of a run from a snapshot of the cluster."""
    pods = snapshot.pods_of(run)
    states = task_states(pods)
    roles = tuple(
        RoleState(role, number, tuple(state for state in states if state.role == role))
        for role, number in live_task_counts(run, snapshot).items()
    )
    lead, end = snapshot.find(run.deciding_object), end_of_run(run, snapshot)
    leader = leading_pod(run, snapshot)
    return RunState(
        run=run,
        namespace=namespace,
        phase=_phase(run, lead, end, roles),
        since=lead["metadata"]["creationTimestamp"] if lead else "",
        end=end,
        roles=roles,
        causes=tuple(_merge_causes(_causes(run, snapshot, roles, end))),
        gpus=sum(task.gpus for task in states),
        finisher=_finisher(run, snapshot, end),
        finisher_log=(snapshot.log_of_finisher(run).splitlines() or [""])[-1],
        unreleased=tuple(role.role for role in roles if end and any(task.holds_node for task in role.tasks)),
        step=last_step(snapshot.logs.get(leader["metadata"]["name"], "")) if leader else None,
        differences=tuple(differences(run, snapshot)),
        edits=tuple(template_edits(run, snapshot)),
        unreadable=snapshot.unreadable,
        lost=tuple(lost_nodes(pods, snapshot.nodes)),
        errors=tuple(task_errors([*failed_pods(run, snapshot), *([leader] if leader else [])], snapshot.logs)),
    )


def last_step(text: str) -> int | None:
    """Return the number of the last training step in a log, from a line such as `step 600: ...` or `global_step = 600`.

    The result is None if no line has a step.
    """
    steps = _STEP.findall(text)
    return int(steps[-1]) if steps else None


def leading_role(run: DeclaredRun) -> str:
    """Return the role whose first task leads the training: `chief`, or else `worker`, or else `master`."""
    return next((role for role in ("chief", "worker") if role in run.roles), "master")


def leading_pod(run: DeclaredRun, snapshot: Snapshot) -> Object | None:
    """Return the newest pod of the task that leads the training; None if the task has no pod."""
    role = leading_role(run)
    pods = [pod for pod in snapshot.pods_of(run) if role_of(pod) == role and index_of(pod) == 0]
    return max(pods, key=creation_time, default=None)


def _phase(run: DeclaredRun, lead: Object | None, end: End | None, roles: Sequence[RoleState]) -> Phase:
    if not run.is_enabled:
        return "Disabled"
    if end:
        return end.result
    if lead is None and not _has_tasks(roles):
        return "Absent"
    if is_suspended(lead):
        return "Suspended"
    first = leading_role(run)
    leaders = [task for role in roles if role.role == first for task in role.tasks if task.index == 0]
    if not any(task.is_ready or task.has_succeeded for task in leaders):  # the Job ends a moment after the task
        return "Pending"
    return "Running" if all(role.ready >= role.requested for role in roles) else "Partial"


def _has_tasks(roles: Sequence[RoleState]) -> bool:
    return any(task.word != TERMINATING for role in roles for task in role.tasks)


def _causes(run: DeclaredRun, snapshot: Snapshot, roles: Sequence[RoleState], end: End | None) -> Iterator[Cause]:
    """Yield the reasons why a run waits, fails or still uses nodes. `end` is None before the end of the run."""
    if not run.is_enabled:
        on_nodes = tuple(role.role for role in roles if any(task.holds_node for task in role.tasks))
        text = "the job is retired in this environment, but the tasks still run; to stop the tasks, run tfgen delete"
        if on_nodes:
            yield Cause(on_nodes, StatusReason("Disabled", text))
        return
    if end is None or end.result == "Failed":
        yield from _gang_causes(run, snapshot)
        yield from _queue_causes(run, snapshot)
        yield from _part_causes(run, snapshot, roles)
    if end is None:
        yield from _controller_causes(run, snapshot, roles)
    if end is None or end.result != "NotStarted":
        yield from _finisher_causes(run, snapshot)
    if end and end.result != "Succeeded" and run.deciding_object:
        yield Cause((" ".join(run.deciding_object[1:]),), StatusReason(end.result, end.message))
    yield from _recreated_causes(run, snapshot, end)
    for _, delivery in run.deliveries:
        reason = delivery_reason(snapshot.objects[delivery]) if delivery in snapshot.objects else None
        if reason:
            yield Cause((" ".join(delivery[1:]),), reason)


def _recreated_causes(run: DeclaredRun, snapshot: Snapshot, end: End | None) -> Iterator[Cause]:
    """Yield a reason for each object that is newer than the end of the run, and starts tasks again.

    A GitOps tool creates a deleted object again. The new Job of the chief has not ended, so the end of the finisher
    shows the end of the run.
    """
    for role, controller in run.controllers.items():
        item = snapshot.find(controller)
        over = end or (end_of(snapshot.find(run.finisher)) if controller == run.deciding_object else None)
        if item is None or over is None or not over.at or item["metadata"]["creationTimestamp"] < over.at:
            continue
        if not end_of(item) and not is_suspended(item) and data_path.at(item, ("spec", "replicas")) != 0:
            text = f"{controller[1]} {controller[2]} was created again after the end of the run"
            yield Cause((role,), StatusReason("CreatedAgain", f"{text}; to free the nodes: tfgen release"))


def _part_causes(run: DeclaredRun, snapshot: Snapshot, roles: Sequence[RoleState]) -> Iterator[Cause]:
    """Yield the reasons why a task, a controller or a claim of a run does not work."""
    by_name = {pod["metadata"]["name"]: pod for pod in snapshot.pods_of(run)}
    for role in roles:
        for task in role.tasks:
            is_waiting = not task.is_ready and not task.has_succeeded
            reason = task.reason or (snapshot.warning_of(by_name[task.pod]) if is_waiting else None)
            if reason:
                yield Cause((task.task,), reason)
        item = snapshot.find(run.controllers.get(role.role))
        missing = task_counts(item).get(role.role, 0) - len(role.tasks) if item else 0
        warning = snapshot.warning_of(item)
        if warning and missing > 0 and not is_suspended(item) and not end_of(item):
            yield Cause((role.role,), warning)
    for claim in run.claims:
        item = snapshot.find(claim)
        phase = item.get("status", {}).get("phase", "Pending") if item else "Bound"
        if phase != "Bound":
            reason = snapshot.warning_of(item) or StatusReason(phase, "the claim has no volume")
            yield Cause((f"claim {claim[2]}",), reason)


def _controller_causes(run: DeclaredRun, snapshot: Snapshot, roles: Sequence[RoleState]) -> Iterator[Cause]:
    """Yield the reason why a role has no tasks: somebody deleted, suspended or scaled the object that creates them.

    A suspended run, and a run without an object, have no such reason.
    """
    lead = snapshot.find(run.deciding_object)
    if is_suspended(lead) or (lead is None and not _has_tasks(roles)):
        return
    declared = {controller: (role, run.roles.get(role, 0)) for role, controller in run.controllers.items()}
    if run.deciding_object:
        declared.setdefault(run.deciding_object, (run.deciding_object[1], 1))
    for controller, (subject, number) in declared.items():
        _, kind, name = controller
        item = snapshot.find(controller)
        field = "replicas" if kind == "StatefulSet" else "parallelism"
        if item is None and not any(text.startswith((f"{kind}:", f"{kind} of ")) for text in snapshot.unreadable):
            fix = "apply or sync the job again, or free the nodes: tfgen release"
            yield Cause((subject,), StatusReason("Missing", f"the cluster has no {kind} {name}; {fix}"))
        if item is None or not number or end_of(item):
            continue
        if is_suspended(item):
            yield Cause((subject,), StatusReason("Suspended", f"{kind} {name} is suspended"))
        elif data_path.at(item, ("spec", field)) == 0:
            text = f"{kind} {name} has {field} 0; to start the tasks, set {field} to {number}"
            yield Cause((subject,), StatusReason("ScaledToZero", text))


def _finisher_causes(run: DeclaredRun, snapshot: Snapshot) -> Iterator[Cause]:
    """Yield the reason why the finisher does not work, if the finisher's Job has no pod, or the pod does not run."""
    item, pod = snapshot.find(run.finisher), snapshot.finisher_pod(run)
    state = task_state(pod) if pod else None
    if item is None or end_of(item) or (state and state.is_ready):
        return
    reason = (state.reason if state else None) or snapshot.warning_of(pod) or snapshot.warning_of(item)
    if reason:
        yield Cause(("finisher",), reason)


_WAITING: Final[Mapping[str, str]] = {
    "Unschedulable": "True",  # of Volcano
    "UnschedulableOnNodePool": "True",  # of KAI, in the list schedulingConditions
    "PodGroupScheduled": "False",  # of Kubernetes 1.36
    "PodGroupInitiallyScheduled": "False",  # of Kubernetes 1.37
}
"""The conditions of a PodGroup that name the reason why the gang waits, with their status."""


def _gang_causes(run: DeclaredRun, snapshot: Snapshot) -> Iterator[Cause]:
    """Yield the reason why the gang waits, if the gang waits.

    A gang waits while fewer of its pods have a node than the gang needs. The scheduler starts no pod until the cluster
    has room for all pods of the gang.
    """
    if run.gang is None or run.gang[0] not in snapshot.objects:
        return
    identity, size = run.gang[0], live_gang_size(run, snapshot)
    pods = [pod for pod in snapshot.pods_of(run) if role_of(pod) in run.roles and role_of(pod) != "evaluator"]
    placed = sum("nodeName" in pod["spec"] or pod["status"].get("phase") in ENDED for pod in pods)
    if placed < size:
        status = snapshot.objects[identity].get("status") or {}
        text = f"{placed} of {count(size, 'pod')} have a node; the gang waits for {size - placed} more"
        message = _waiting_message(status)
        if "should have the same priority as the pod group's priority" in message:  # of Kubernetes 1.37
            message += "; the PodGroup cannot change, so set one priorityClassName, and start a new run: tfgen rerun"
        reason = StatusReason(status.get("phase", "Pending"), f"{text}{': ' * bool(message)}{message}")
        yield Cause((f"gang {identity[2]}",), reason)


def _waiting_message(status: Mapping[str, Any]) -> str:
    """Return the reason that a scheduler wrote into the status of a PodGroup; empty without a reason."""
    conditions = (*(status.get("conditions") or ()), *(status.get("schedulingConditions") or ()))
    for item in conditions:
        if _WAITING.get(item.get("type", "")) == item.get("status", ""):
            reasons = (reason["message"] for reason in item.get("reasons") or () if reason.get("message"))
            return str(item.get("message") or ", ".join(reasons))
    return ""


def _queue_causes(run: DeclaredRun, snapshot: Snapshot) -> Iterator[Cause]:
    """Yield the reason why a run waits in a queue of Kueue, if the run waits in a queue."""
    lead = snapshot.find(run.deciding_object)
    if lead is None or not queue_of(lead) or any(WORKLOAD in text for text in snapshot.unreadable):
        return
    workload = workload_of(lead, snapshot.workloads)
    reason, pending = queue_reason(lead, workload), snapshot.pending.get(queue_of(lead), ())
    if reason and workload and workload["metadata"]["name"] in pending:
        place = pending.index(workload["metadata"]["name"]) + 1
        reason = reason.replaced(message=f"{reason.message}; place {place} of {len(pending)} in the queue")
    if reason:
        yield Cause((f"queue {queue_of(lead)}",), reason)


def _merge_causes(causes: Iterable[Cause]) -> Iterator[Cause]:
    """Merge the causes with equal reasons. Yield the causes with failed probes last.

    A failed probe is often only an effect of another cause.
    """
    groups: dict[StatusReason, list[str]] = {}
    for cause in sorted(causes, key=lambda cause: cause.reason.word == "Unhealthy"):
        groups.setdefault(cause.reason, []).extend(cause.subjects)
    yield from (Cause(tuple(subjects), reason) for reason, subjects in groups.items())


def _finisher(run: DeclaredRun, snapshot: Snapshot, run_end: End | None) -> str:
    """Return the state of the finisher's Job in one word, such as Waiting during a run, or Releasing after a run."""
    item = snapshot.find(run.finisher)
    if item is None:
        return "Absent" if run.finisher else ""
    end = end_of(item)
    if end:
        return {"Succeeded": "Complete", "Failed": "Failed"}[end.result]
    if is_suspended(item):
        return "Suspended"
    pod = snapshot.finisher_pod(run)
    if not item.get("status", {}).get("active") or (pod and not task_state(pod).is_ready):
        return "Pending"
    return "Releasing" if run_end else "Waiting"
