"""Finds the pod of a task or of TensorBoard for commands such as `tfgen exec`."""

from __future__ import annotations

from collections.abc import Sequence

from tfgen.errors import TfgenError
from tfgen.graph.objects.tensorboard import ROLE as TENSORBOARD
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, creation_time
from tfgen.live.api import Api
from tfgen.live.declared_run import DeclaredRun
from tfgen.live.read_snapshot import read_pods
from tfgen.live.task_state import index_of, is_running, role_of, task_state
from tfgen.words import either


def run_pods(api: Api, namespace: str, run: DeclaredRun) -> list[Object]:
    """Return the pods of a run.

    Raises:
        ApiError: the account may not list pods.
        TfgenError: the server does not answer in time.
    """
    return read_pods(api, namespace, {keys.JOB: run.full_name, keys.RUN: run.run})


def task_pod(pods: Sequence[Object], namespace: str, run: DeclaredRun, role: str, index: int) -> Object:
    """Return the running pod of a task. If the task has several running pods, return the newest.

    Args:
        pods: the pods of the run.
        namespace: the namespace of the pods.
        run: the run.
        role: the role of the task.
        index: the index of the task in its role.

    Raises:
        TfgenError: the task has no running pod. The message lists the run's tasks, or has the reason why the task does
            not run.
    """
    task_pods = [pod for pod in pods if (role_of(pod), index_of(pod)) == (role, index)]
    if not task_pods:
        live_tasks = sorted({(role_of(pod), index_of(pod)) for pod in pods if role_of(pod) in run.roles})
        tasks = either([f"{name}-{number}" for name, number in live_tasks], "and") if live_tasks else "no task"
        raise TfgenError(f"{run.title}: {role}-{index} has no pod in the namespace {namespace}; the run has {tasks}")
    running = [pod for pod in task_pods if is_running(pod)]
    if not running:
        raise TfgenError(f"{run.title}: {role}-{index} does not run: {_state(task_pods)}")
    return max(running, key=creation_time)


def tensorboard_pod(api: Api, namespace: str, run: DeclaredRun) -> Object:
    """Return the newest ready pod of a job's TensorBoard.

    Raises:
        ApiError: the account may not list pods.
        TfgenError: no pod of TensorBoard is ready; the message has the reason.
    """
    pods = read_pods(api, namespace, {keys.JOB: run.full_name, keys.ROLE: TENSORBOARD})
    if not pods:
        reason = "the Deployment does not exist, or the end of the run has scaled the Deployment to 0"
        raise TfgenError(f"{run.title}: TensorBoard has no pod in the namespace {namespace}: {reason}")
    ready = [pod for pod in pods if task_state(pod).is_ready]
    if not ready:
        raise TfgenError(f"{run.title}: TensorBoard is not ready: {_state(pods)}")
    return max(ready, key=creation_time)


def _state(pods: Sequence[Object]) -> str:
    """Return a text about the newest pod in `pods`, such as "Pending: Unschedulable: 0/3 nodes are available"."""
    state = task_state(max(pods, key=creation_time))
    parts = [state.word, *((state.reason.word, state.reason.message) if state.reason else ())]
    return ": ".join(part for part in dict.fromkeys(parts) if part)
