"""The state of a task, read from the task's pod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tfgen.graph.objects.names import CONTAINER
from tfgen.graph.task_pods import gpu_count
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, creation_time
from tfgen.record import EMPTY, Record

_INDEXES: Final = (
    keys.STATEFUL_SET_INDEX,
    keys.JOB_INDEX,
    keys.TF_JOB_INDEX,
    keys.VOLCANO_INDEX,
    keys.ELASTIC_DL_INDEX,
)
_STARTING: Final = ("ContainerCreating", "PodInitializing")
"""Reasons in the status of a container that waits during a normal start. These reasons show no problem."""
TERMINATING: Final = "Terminating"
OUT_OF_MEMORY: Final = "OOMKilled"
ENDED: Final = ("Succeeded", "Failed")
"""Phases of a pod that has ended and no longer uses resources of its node."""


class Reason(Record):
    """A reason in the status of an object: a word such as `ImagePullBackOff`, and a message."""

    word: str
    message: str


class TaskState(Record):
    """The state of a task's newest pod.

    Attributes:
        word: state as in `kubectl get pods`.
        is_ready: whether the pod runs and passes the readiness probe.
        has_succeeded: whether the pod has succeeded.
        restarts: number of restarts of the containers.
        node: name of the pod's node; empty for a pod without a node.
        since: creation time of the pod, in Kubernetes' format.
        gpus: number of GPUs that the pod uses.
        holds_node: whether the pod uses resources of a node, and nobody has deleted the pod yet.
        reason: reason why the pod is not ready; None for a ready pod, and for a pod whose status has no reason.
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
        """Return the name of the task: role and index, such as `worker-1`."""
        return f"{self.role}-{self.index}"


def role_of(pod: Object) -> str:
    """Return the role of a pod, from the pod's label; empty for a pod without the label."""
    role: str = pod["metadata"].get("labels", {}).get(keys.ROLE, "")
    return role


def index_of(pod: Object) -> int:
    """Return the index of a pod's task in the role, from the label that the controller sets; 0 without the label."""
    labels = pod["metadata"].get("labels", {})
    return next((int(labels[key]) for key in _INDEXES if labels.get(key, "").isdecimal()), 0)


def task_name(pod: Object) -> str:
    """Return the name of a pod's task: role and index, such as `worker-1`."""
    return f"{role_of(pod)}-{index_of(pod)}"


def main_container(pod: Object) -> str:
    """Return the name of a pod's main container: the training container, or else the first container."""
    names: list[str] = [item["name"] for item in pod["spec"]["containers"]]
    return CONTAINER if CONTAINER in names else names[0]


def container_status(pod: Object, container: str) -> Mapping[str, Any]:
    """Return the status of a container or an init container of a pod; empty for a container without a status."""
    status = pod["status"]
    statuses = (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
    return next((item for item in statuses if item["name"] == container), EMPTY)


def is_running(pod: Object) -> bool:
    """Test whether a pod's main container runs and the pod is not being deleted."""
    is_up = "running" in container_status(pod, main_container(pod)).get("state", {})
    return is_up and "deletionTimestamp" not in pod["metadata"]


def task_states(pods: Sequence[Object]) -> tuple[TaskState, ...]:
    """Return the state of each task, sorted by role and index.

    A task may have several pods, because a Job keeps failed pods. The state is that of the newest pod.
    """
    tasks = newest_pods(pods)
    earlier = {key: sum((role_of(pod), index_of(pod)) == key for pod in pods) - 1 for key in tasks}
    return tuple(task_state(pod, earlier[key]) for key, pod in sorted(tasks.items()))


def newest_pods(pods: Iterable[Object]) -> dict[tuple[str, int], Object]:
    """Return the newest pod of each task, by role and index of the task. Example of a key: ("worker", 1)."""
    return {(role_of(pod), index_of(pod)): pod for pod in sorted(pods, key=creation_time)}


def task_state(pod: Object, earlier: int = 0) -> TaskState:
    """Return the state of a task, read from the task's newest pod.

    Args:
        pod: newest pod of the task.
        earlier: number of pods of the task that failed before this pod was created.
    """
    status, phase = pod["status"], pod["status"].get("phase", "Pending")
    statuses = status.get("containerStatuses", ())
    is_ready = phase == "Running" and condition(pod, "Ready").get("status") == "True"
    is_leaving = "deletionTimestamp" in pod["metadata"]
    node = pod["spec"].get("nodeName", "")
    return TaskState(
        role=role_of(pod),
        index=index_of(pod),
        pod=pod["metadata"]["name"],
        word=TERMINATING if is_leaving and phase not in ENDED else _word(pod),
        is_ready=is_ready and not is_leaving,
        has_succeeded=phase == "Succeeded",
        restarts=earlier + sum(item.get("restartCount", 0) for item in statuses),
        node=node,
        since=pod["metadata"]["creationTimestamp"],
        gpus=gpus_of(pod),
        holds_node=bool(node) and phase not in ENDED and not is_leaving,
        reason=_reason(pod, is_ready=is_ready),
    )


def gpus_of(pod: Object) -> int:
    """Return the number of GPUs that a pod uses. A pod without a node, or that has ended, uses no GPUs."""
    has_node = pod["spec"].get("nodeName") and pod["status"].get("phase") not in ENDED
    return sum(map(gpu_count, pod["spec"]["containers"])) if has_node else 0


def _word(pod: Object) -> str:
    """Return the state of a pod as `kubectl get pods` prints the state.

    Source: pkg/printers/internalversion/printers.go of Kubernetes.
    """
    status = pod["status"]
    word: str = status.get("reason") or status.get("phase", "Pending")
    for number, item in enumerate(status.get("initContainerStatuses", ())):
        state = item.get("state", {})
        if state.get("terminated", {}).get("exitCode") == 0 or ("running" in state and item.get("started")):
            continue
        reason = state.get("terminated", {}).get("reason") or state.get("waiting", {}).get("reason")
        total = len(pod["spec"].get("initContainers", ()))
        return f"Init:{reason}" if reason and reason not in _STARTING else f"Init:{number}/{total}"
    for item in status.get("containerStatuses", ()):
        state = item.get("state", {})
        reason = state.get("waiting", {}).get("reason") or state.get("terminated", {}).get("reason")
        word = reason if reason and (word == status.get("phase") or item["name"] == CONTAINER) else word
    return word


def _reason(pod: Object, *, is_ready: bool) -> Reason | None:
    """Return the reason why a pod does not work, from the pod's status; None if the status has no reason."""
    status = pod["status"]
    if "deletionTimestamp" in pod["metadata"] and status.get("phase") not in ENDED:
        return Reason(TERMINATING, "the pod is being deleted")
    if is_ready or status.get("phase") == "Succeeded":
        return None
    scheduled = condition(pod, "PodScheduled")
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
        return f"{container} exited with code {code}{': ' if text else ''}{text.splitlines()[-1] if text else ''}"
    limits = [
        item.get("resources", {}).get("limits", {}) for item in pod["spec"]["containers"] if item["name"] == container
    ]
    limit = limits[0].get("memory") if limits else None
    return f"{container} used more memory than {f'the limit of {limit}' if limit else 'the node has'}"


def condition(pod: Object, kind: str) -> Mapping[str, Any]:
    """Return the condition of the given type, such as `Ready`, in a pod's status; empty without such a condition."""
    conditions: Sequence[Mapping[str, Any]] = pod["status"].get("conditions", ())
    return next((item for item in conditions if item["type"] == kind), {})
