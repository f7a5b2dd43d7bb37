"""The tasks of a run: the state of each task, the number of tasks of each role, and the errors of failed tasks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from tfgen import data_path
from tfgen.graph.graph import gpu_count
from tfgen.graph.helper_pods import TENSORBOARD
from tfgen.graph.naming import CONTAINER
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, creation_time
from tfgen.live.run import DeclaredRun, Snapshot, StatusReason, condition, end_of, gang_size
from tfgen.live.training_log import TrainingError, find_error
from tfgen.record import EMPTY, Record
from tfgen.words import count

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
ENDED: Final = ("Succeeded", "Failed")
"""Phases of a pod that has ended and no longer uses resources of its node."""


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
    reason: StatusReason | None

    @property
    def task(self) -> str:
        """Return the name of the task: role and index, such as `worker-1`."""
        return f"{self.role}-{self.index}"


def role_of(pod: Object) -> str:
    """Return the role of a pod, from the pod's label; empty for a pod without the label."""
    return str(pod["metadata"].get("labels", {}).get(keys.ROLE, ""))


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
    return next((item for item in _container_statuses(pod) if item["name"] == container), EMPTY)


def _container_statuses(pod: Object) -> Sequence[Mapping[str, Any]]:
    status = pod["status"]
    return (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))


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
    return sum(map(gpu_count, pod["spec"]["containers"])) if holds_a_node(pod) else 0


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


def _reason(pod: Object, *, is_ready: bool) -> StatusReason | None:
    """Return the reason why a pod does not work, from the pod's status; None if the status has no reason."""
    status = pod["status"]
    if "deletionTimestamp" in pod["metadata"] and status.get("phase") not in ENDED:
        return StatusReason(TERMINATING, "the pod is being deleted")
    if is_ready or status.get("phase") == "Succeeded":
        return None
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        return StatusReason(scheduled.get("reason", "Unschedulable"), scheduled.get("message", ""))
    of_container = next(filter(None, (_container_reason(item, pod) for item in _container_statuses(pod))), None)
    if of_container is None and status.get("phase") == "Failed":
        return StatusReason(status.get("reason", "Failed"), status.get("message", ""))
    return of_container


def _container_reason(item: Mapping[str, Any], pod: Object) -> StatusReason | None:
    state = item.get("state", {})
    ended = state.get("terminated") or item.get("lastState", {}).get("terminated") or {}
    waiting = state.get("waiting", {})
    if ended.get("exitCode") and (waiting or "terminated" in state):
        return StatusReason(ended.get("reason", "Error"), _end_message(item["name"], ended, pod))
    if waiting.get("reason", _STARTING[0]) not in _STARTING:
        return StatusReason(waiting["reason"], waiting.get("message", ""))
    return None


def _end_message(container: str, ended: Mapping[str, Any], pod: Object) -> str:
    code = ended["exitCode"]
    if ended.get("reason") != "OOMKilled":
        text = ended.get("message", "").strip()
        return f"{container} exited with code {code}{': ' if text else ''}{text.splitlines()[-1] if text else ''}"
    spec: Mapping[str, Any] = next((item for item in pod["spec"]["containers"] if item["name"] == container), {})
    limit = data_path.at(spec, ("resources", "limits", "memory"))
    return f"{container} used more memory than {f'the limit of {limit}' if limit else 'the node has'}"


ROLE_LABEL: Final = ("metadata", "labels", keys.ROLE)
"""The path of the label with the role, in a pod or a pod template."""


def live_task_counts(run: DeclaredRun, snapshot: Snapshot) -> Mapping[str, int]:
    """Return the number of tasks of each role of a run. Example: {"chief": 1, "worker": 4}.

    The number comes from the objects in the cluster that create the pods of the role. If the cluster has no such
    object, or if the release of the run has scaled the object to 0, the number comes from job.yaml.
    """
    counts: Counter[str] = Counter()
    for item in filter(None, map(snapshot.find, {*run.controllers.values(), run.deciding_object})):
        counts.update(task_counts(item))
    return {role: counts[role] or declared for role, declared in run.roles.items()}


def live_gang_size(run: DeclaredRun, snapshot: Snapshot) -> int:
    """Return the number of pods that the gang starts together; 0 for a run without a gang."""
    return (gang_size(snapshot.find(run.gang[0])) or run.gang[1]) if run.gang else 0


def differences(run: DeclaredRun, snapshot: Snapshot) -> Iterator[str]:
    """Yield a text for each number of tasks or pods that differs between the cluster and job.yaml.

    Example: "worker: the cluster has 3 tasks, but job.yaml sets 4".
    """
    for role, number in live_task_counts(run, snapshot).items():
        if number != run.roles[role]:
            yield f"{role}: the cluster has {count(number, 'task')}, but job.yaml sets {run.roles[role]}"
    size = live_gang_size(run, snapshot)
    if run.gang and size != run.gang[1]:
        pods = count(size, "pod")
        yield f"gang {run.gang[0][2]}: the object in the cluster requires {pods}, but job.yaml sets {run.gang[1]}"


def task_counts(item: Object) -> Mapping[str, int]:
    """Return the number of pods of each role that an object, such as a StatefulSet, requests. Example: {"worker": 4}.

    A label in the pod template has the name of the role.
    """
    counts: Counter[str] = Counter()
    for template, number in _templates(item):
        role = data_path.at(template, ROLE_LABEL)
        if isinstance(role, str) and isinstance(number, int):
            counts[role] += number
    return counts


def pod_templates(item: Object) -> tuple[Any, ...]:
    """Return the pod templates of an object. The template of a Pod is the Pod."""
    return (item,) if item["kind"] == "Pod" else tuple(template for template, _ in _templates(item))


def _templates(item: Object) -> Iterator[tuple[Any, Any]]:
    """Yield each pod template of an object, with the number of pods that the object creates from the template."""
    spec: Mapping[str, Any] = item.get("spec") or {}
    parts: Iterable[Mapping[str, Any]]
    match item["kind"]:
        case "TFJob":
            parts = (spec.get("tfReplicaSpecs") or {}).values()
        case "JobSet":
            parts = [
                {**(data_path.at(part, ("template", "spec")) or {}), "replicas": part.get("replicas", 1)}
                for part in spec.get("replicatedJobs") or ()
            ]
        case "Job" if "tasks" in spec:  # a Volcano Job
            parts = spec["tasks"] or ()
        case _:
            parts = (spec,)
    for part in parts:
        numbers = part.get("replicas", 1), part.get("completions", 1)
        yield part.get("template"), math.prod(numbers) if all(isinstance(number, int) for number in numbers) else None


class TaskError(Record):
    """A common training error, and the first task that failed with the error."""

    task: str
    error: TrainingError

    def __str__(self) -> str:
        """Return the line for the user, such as "worker-1: out of GPU memory"."""
        return f"{self.task}: {self.error}"


def failed_pods(run: DeclaredRun, snapshot: Snapshot) -> list[Object]:
    """Return the newest pod of each failed task, sorted by the time of the failure; empty if the run has succeeded.

    TensorBoard counts as a task.
    """
    end = end_of(snapshot.find(run.deciding_object))
    if end and end.result == "Succeeded":
        return []
    pods = [pod for pod in snapshot.pods_of(run) if role_of(pod) in run.roles or not run.controllers]
    if run.tensorboard_port is not None:
        pods += snapshot.pods_with({keys.JOB: run.full_name, keys.ROLE: TENSORBOARD})
    failed = filter(_failure, newest_pods(pods).values())
    return sorted(failed, key=lambda pod: str(_failure(pod).get("finishedAt") or ""))


def task_errors(pods: Iterable[Object], logs: Mapping[str, str]) -> Iterator[TaskError]:
    """Yield the common training errors of pods, each error once.

    The log of a pod that has not failed may also show an error.

    Args:
        pods: pods of tasks, the failed pods first.
        logs: last lines of the pods' logs, by the name of the pod. A pod may have no log.
    """
    printed: set[str] = set()
    for pod in pods:
        failure = _failure(pod)
        texts = (logs.get(pod["metadata"]["name"], ""), failure.get("message", ""), failure.get("reason", ""))
        error = find_error(texts, has_failed=bool(failure))
        if error and error.name not in printed:
            printed.add(error.name)
            yield TaskError(TENSORBOARD if role_of(pod) == TENSORBOARD else task_name(pod), error)


def _failure(pod: Object) -> Mapping[str, Any]:
    """Return the state of a pod's main container if the container has failed; empty if it runs or has succeeded."""
    status = container_status(pod, main_container(pod))
    state: Mapping[str, Any] = status.get("state") or {}
    waiting: Mapping[str, Any] = state.get("waiting") or {}
    if waiting.get("reason") in ("RunContainerError", "CreateContainerError"):  # the command cannot be started
        return waiting
    ended: Mapping[str, Any] = state.get("terminated") or (status.get("lastState") or {}).get("terminated") or {}
    return ended if ended.get("exitCode") and "running" not in state else EMPTY


LEASE_NAMESPACE: Final = "kube-node-lease"
_SILENT: Final = "Unknown"
"""The status of the condition Ready if the kubelet has sent no report for the grace period of the node controller."""


def sign_of_life(node: Object, lease: Object | None, now: datetime) -> str:
    """Return the reason why a node may still run its pods; empty for a node that does not answer.

    Args:
        node: the node.
        lease: the lease that the node's kubelet renews; None for a node without a lease.
        now: the time of the API server.
    """
    name, ready = node["metadata"]["name"], condition(node, "Ready")
    if ready.get("status") == "True":
        return f"{name} is ready"
    if ready.get("status") != _SILENT:
        reason = ready.get("message") or ready.get("reason") or "no message"
        return f"the kubelet of {name} answers, and reports that the node is not ready ({reason})"
    spec: Mapping[str, Any] = (lease or {}).get("spec") or {}
    if not spec.get("renewTime"):
        return ""
    seconds = (now - datetime.fromisoformat(spec["renewTime"])).total_seconds()
    is_old = seconds > (spec.get("leaseDurationSeconds") or 40)  # the default of the kubelet
    return "" if is_old else f"the kubelet of {name} renewed its lease {max(seconds, 0):.0f} s ago"


class LostNode(Record):
    """A node that is not ready, with the pods of a run on the node.

    Attributes:
        name: the name of the node.
        since: the time since which the node is not ready, in Kubernetes' format; empty without a condition Ready.
        message: the message of the node's condition Ready.
        is_silent: whether the kubelet does not answer.
        tasks: the names of the run's tasks on the node, such as `worker-1`.
        pods: the names of the pods of these tasks.
        gpus: the number of GPUs that the pods use.
        claims: the names of the claims that the pods mount.
    """

    name: str
    since: str
    message: str
    is_silent: bool
    tasks: tuple[str, ...]
    pods: tuple[str, ...]
    gpus: int
    claims: tuple[str, ...]


def holds_a_node(pod: Object) -> bool:
    """Test whether a pod is assigned to a node and has not ended."""
    return bool(pod["spec"].get("nodeName")) and pod["status"].get("phase") not in ENDED


def doubtful_nodes(pods: Iterable[Object]) -> set[str]:
    """Return the names of the nodes that may be lost, according to the pods on each node.

    The node controller sets the condition Ready of the pods on a lost node to False, although ContainersReady is still
    True. A pod that is being deleted also makes its node doubtful.
    """
    return {
        pod["spec"]["nodeName"]
        for pod in filter(holds_a_node, pods)
        if "deletionTimestamp" in pod["metadata"]
        or (condition(pod, "Ready").get("status"), condition(pod, "ContainersReady").get("status")) == ("False", "True")
    }


def lost_nodes(pods: Iterable[Object], nodes: Mapping[str, Object]) -> Iterator[LostNode]:
    """Yield each node that is not ready, if the node has pods of a run.

    Args:
        pods: the pods of the run.
        nodes: the nodes, by name.
    """
    on_nodes: dict[str, list[Object]] = {}
    for pod in filter(holds_a_node, pods):
        on_nodes.setdefault(pod["spec"]["nodeName"], []).append(pod)
    for name, on_node in sorted(on_nodes.items()):
        ready = condition(nodes[name], "Ready") if name in nodes else None
        if ready is not None and ready.get("status") != "True":
            volumes = [volume for pod in on_node for volume in pod["spec"].get("volumes") or ()]
            claims = (data_path.at(volume, ("persistentVolumeClaim", "claimName")) for volume in volumes)
            yield LostNode(
                name=name,
                since=ready.get("lastTransitionTime") or "",
                message=ready.get("message") or "",
                is_silent=ready.get("status") == _SILENT,
                tasks=tuple(sorted(map(task_name, on_node))),
                pods=tuple(sorted(pod["metadata"]["name"] for pod in on_node)),
                gpus=sum(map(gpus_of, on_node)),
                claims=tuple(sorted({*filter(None, claims)})),
            )
