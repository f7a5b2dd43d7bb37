"""How one task is, judged by its pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.graph.gpu_count import gpu_count
from tfgen.graph.objects.names import CONTAINER
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object
from tfgen.record import Record

_INDEXES: Final = (
    keys.STATEFUL_SET_INDEX,
    keys.JOB_INDEX,
    keys.TF_JOB_INDEX,
    keys.VOLCANO_INDEX,
    keys.ELASTIC_DL_INDEX,
)
_STARTING: Final = ("ContainerCreating", "PodInitializing")
"""Reasons of a container that waits, which say no more than that it does."""
OUT_OF_MEMORY: Final = "OOMKilled"
ENDED: Final = ("Succeeded", "Failed")
"""The phases of a pod that holds nothing any more."""


class Reason(Record):
    """Why something is not as it is to be: a word of Kubernetes', and its message."""

    word: str
    message: str


class TaskState(Record):
    """A task's newest pod.

    Attributes:
        word: its state as `kubectl get pods` says it.
        is_ready: whether it runs, and its readiness probe says so.
        has_succeeded: whether it has ended well.
        restarts: how often its container was started again.
        node: empty where it has none.
        since: when the pod was made, as Kubernetes writes times.
        gpus: how many it holds.
        holds_node: whether the pod keeps its place on a node until somebody deletes the pod.
        reason: why it is not ready; None where it is, or its pod alone does not say it.
    """

    role: str
    index: int
    pod: str
    word: str
    is_ready: bool
    has_succeeded: bool
    restarts: int
    node: str
    since: str
    gpus: int
    holds_node: bool
    reason: Reason | None

    @property
    def task(self) -> str:
        """Its role and its index."""
        return f"{self.role}-{self.index}"


def role_of(pod: Object) -> str:
    """The role that a pod's label says; empty where it says none."""
    role: str = pod["metadata"].get("labels", {}).get(keys.ROLE, "")
    return role


def index_of(pod: Object) -> int:
    """The index of a pod among those of its role, which its controller gives it as a label; 0 where it gives none."""
    labels = pod["metadata"].get("labels", {})
    return next((int(labels[key]) for key in _INDEXES if labels.get(key, "").isdecimal()), 0)


def task_name(pod: Object) -> str:
    """Return the name of a pod's task: its role and its index."""
    return f"{role_of(pod)}-{index_of(pod)}"


def main_container(pod: Object) -> str:
    """The name of the container that a pod is for: the one that trains, or its first."""
    names: list[str] = [item["name"] for item in pod["spec"]["containers"]]
    return CONTAINER if CONTAINER in names else names[0]


def is_running(pod: Object) -> bool:
    """Whether the container that a pod is for runs, and is to go on."""
    name = main_container(pod)
    statuses = pod["status"].get("containerStatuses", ())
    is_up = any(item["name"] == name and "running" in item.get("state", {}) for item in statuses)
    return is_up and "deletionTimestamp" not in pod["metadata"]


def task_states(pods: Sequence[Object]) -> tuple[TaskState, ...]:
    """The tasks of some pods by role and index, each by its newest pod: a Job's earlier ones stay after they failed."""
    newest: dict[tuple[str, int], Object] = {}
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"])):
        newest[role_of(pod), index_of(pod)] = pod
    earlier = {key: sum((role_of(pod), index_of(pod)) == key for pod in pods) - 1 for key in newest}
    return tuple(task_state(pod, earlier[key]) for key, pod in sorted(newest.items()))


def task_state(pod: Object, earlier: int = 0) -> TaskState:
    """The state of a task.

    Args:
        pod: its newest.
        earlier: how many pods it had before, each of which failed.
    """
    status, phase = pod["status"], pod["status"].get("phase", "Pending")
    statuses = status.get("containerStatuses", ())
    is_ready = phase == "Running" and _condition(pod, "Ready").get("status") == "True"
    is_leaving = "deletionTimestamp" in pod["metadata"]
    node = pod["spec"].get("nodeName", "")
    return TaskState(
        role=role_of(pod),
        index=index_of(pod),
        pod=pod["metadata"]["name"],
        word="Terminating" if is_leaving and phase not in ENDED else _word(pod),
        is_ready=is_ready and not is_leaving,
        has_succeeded=phase == "Succeeded",
        restarts=earlier + sum(item.get("restartCount", 0) for item in statuses),
        node=node,
        since=pod["metadata"]["creationTimestamp"],
        gpus=sum(map(gpu_count, pod["spec"]["containers"])) if node and phase not in ENDED else 0,
        holds_node=bool(node) and phase not in ENDED and not is_leaving,
        reason=None if is_ready or phase == "Succeeded" else _reason(pod),
    )


def _word(pod: Object) -> str:
    """As kubectl's printer finds it: pkg/printers/internalversion/printers.go of Kubernetes."""
    status = pod["status"]
    word: str = status.get("reason") or status.get("phase", "Pending")
    for number, item in enumerate(status.get("initContainerStatuses", ())):
        state = item.get("state", {})
        if state.get("terminated", {}).get("exitCode") == 0 or ("running" in state and item.get("started")):
            continue
        why = state.get("terminated", {}).get("reason") or state.get("waiting", {}).get("reason")
        total = len(pod["spec"].get("initContainers", ()))
        return f"Init:{why}" if why and why not in _STARTING else f"Init:{number}/{total}"
    for item in status.get("containerStatuses", ()):
        state = item.get("state", {})
        why = state.get("waiting", {}).get("reason") or state.get("terminated", {}).get("reason")
        word = why if why and (word == status.get("phase") or item["name"] == CONTAINER) else word
    return word


def _reason(pod: Object) -> Reason | None:
    """Why a pod is not ready, where it says so itself."""
    status = pod["status"]
    scheduled = _condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        return Reason(scheduled.get("reason", "Unschedulable"), scheduled.get("message", ""))
    for item in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        reason = _container_reason(item, pod)
        if reason:
            return reason
    if status.get("phase") == "Failed":
        return Reason(status.get("reason", "Failed"), status.get("message", ""))
    return None


def _container_reason(item: Mapping[str, Any], pod: Object) -> Reason | None:
    state = item.get("state", {})
    ended = state.get("terminated") or item.get("lastState", {}).get("terminated") or {}
    waiting = state.get("waiting", {})
    if ended.get("exitCode") and (waiting or "terminated" in state):
        return Reason(ended.get("reason", "Error"), _end_message(item["name"], ended, pod))
    if waiting.get("reason", _STARTING[0]) not in _STARTING:
        return Reason(waiting["reason"], waiting.get("message", ""))
    return None


def _end_message(container: str, ended: Mapping[str, Any], pod: Object) -> str:
    code = ended["exitCode"]
    if ended.get("reason") != OUT_OF_MEMORY:
        text = ended.get("message", "").strip()
        return f"{container} ended with {code}{': ' if text else ''}{text.splitlines()[-1] if text else ''}"
    limits = [
        item.get("resources", {}).get("limits", {}) for item in pod["spec"]["containers"] if item["name"] == container
    ]
    limit = limits[0].get("memory") if limits else None
    return f"{container} took more memory than {f'its limit, {limit}' if limit else 'its node has'}"


def _condition(pod: Object, kind: str) -> Mapping[str, Any]:
    conditions: Sequence[Mapping[str, Any]] = pod["status"].get("conditions", ())
    return next((condition for condition in conditions if condition["type"] == kind), {})
