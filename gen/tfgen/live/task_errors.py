"""Recognizes common training errors in the last lines of the failed tasks' logs and in the kubelet's messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tfgen.graph.objects.tensorboard import ROLE as TENSORBOARD
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object
from tfgen.live.declared_run import DeclaredRun
from tfgen.live.run_end import end_of
from tfgen.live.snapshot import Snapshot
from tfgen.live.task_state import container_status, main_container, newest_pods, role_of, task_name
from tfgen.record import Record
from tfgen.training_errors import TrainingError, find_error

_NOT_STARTED: Final = ("RunContainerError", "CreateContainerError")
"""Reasons in the status of a container whose command cannot be started."""


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
    lead = snapshot.deciding_object_of(run)
    end = end_of(lead) if lead else None
    if end and end.result == "Succeeded":
        return []
    failed = [pod for pod in newest_pods(_task_pods(run, snapshot)).values() if _failure(pod) is not None]
    return sorted(failed, key=lambda pod: str((_failure(pod) or {}).get("finishedAt") or ""))


def task_errors(pods: Iterable[Object], logs: Mapping[str, str]) -> Iterator[TaskError]:
    """Yield the common training errors of pods, each error once.

    The log of a pod that has not failed may also show an error.

    Args:
        pods: pods of tasks, the failed pods first.
        logs: last lines of the pods' logs, by the name of the pod. A pod may have no log.
    """
    printed: set[str] = set()
    for pod in pods:
        failure = _failure(pod) or {}
        texts = (logs.get(pod["metadata"]["name"], ""), failure.get("message", ""), failure.get("reason", ""))
        error = find_error(texts, has_failed=bool(failure))
        if error and error.name not in printed:
            printed.add(error.name)
            yield TaskError(TENSORBOARD if role_of(pod) == TENSORBOARD else task_name(pod), error)


def _task_pods(run: DeclaredRun, snapshot: Snapshot) -> Iterator[Object]:
    yield from (pod for pod in snapshot.pods_of(run) if role_of(pod) in run.roles or not run.controllers)
    if run.tensorboard_port is not None:
        yield from snapshot.pods_with({keys.JOB: run.full_name, keys.ROLE: TENSORBOARD})


def _failure(pod: Object) -> Mapping[str, Any] | None:
    """Return the state of a pod's main container if the container has failed; None if it runs or has succeeded."""
    status = container_status(pod, main_container(pod))
    state: Mapping[str, Any] = status.get("state") or {}
    waiting: Mapping[str, Any] = state.get("waiting") or {}
    if waiting.get("reason") in _NOT_STARTED:
        return waiting
    ended: Mapping[str, Any] = state.get("terminated") or (status.get("lastState") or {}).get("terminated") or {}
    return ended if ended.get("exitCode") and "running" not in state else None
