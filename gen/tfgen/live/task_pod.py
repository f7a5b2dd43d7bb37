"""The pod behind a name that a user says: of a task, or of TensorBoard."""

from __future__ import annotations

from collections.abc import Sequence

from tfgen.errors import TfgenError
from tfgen.graph.objects.tensorboard import ROLE as TENSORBOARD
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object
from tfgen.live.api import Api
from tfgen.live.read_snapshot import read_pods
from tfgen.live.task_state import index_of, is_running, role_of, task_state
from tfgen.live.wanted_run import WantedRun
from tfgen.words import either


def task_pod(api: Api, namespace: str, run: WantedRun, role: str, index: int) -> Object:
    """The newest pod of a task whose main container runs.

    Raises:
        ApiError: the account may not list pods.
        TfgenError: there is none; with what is there instead, and why it does not run.
    """
    pods = read_pods(api, namespace, {keys.JOB: run.full_name, keys.RUN: run.run})
    own = [pod for pod in pods if (role_of(pod), index_of(pod)) == (role, index)]
    if not own:
        there = sorted({(role_of(pod), index_of(pod)) for pod in pods if role_of(pod) in run.roles})
        tasks = either([f"{name}-{number}" for name, number in there], "and") if there else "no task"
        raise TfgenError(f"{run.title}: no pod of {role}-{index} in {namespace}, where the run has {tasks}")
    running = [pod for pod in own if is_running(pod)]
    if not running:
        raise TfgenError(f"{run.title}: {role}-{index} does not run: {_state(own)}")
    return _newest(running)


def tensorboard_pod(api: Api, namespace: str, run: WantedRun) -> Object:
    """The newest pod of a job's TensorBoard that is ready.

    Raises:
        ApiError: the account may not list pods.
        TfgenError: there is none; with what is there instead, and why it is not ready.
    """
    pods = read_pods(api, namespace, {keys.JOB: run.full_name, keys.ROLE: TENSORBOARD})
    if not pods:
        raise TfgenError(
            f"{run.title}: no pod of TensorBoard in {namespace}: it is not applied, or was released with a run"
        )
    ready = [pod for pod in pods if task_state(pod).is_ready]
    if not ready:
        raise TfgenError(f"{run.title}: TensorBoard is not ready: {_state(pods)}")
    return _newest(ready)


def path_of(api: Api, namespace: str, pod: Object, subresource: str) -> str:
    """The path of what a pod's node does, such as its exec.

    Raises:
        TfgenError: the server has no pods.
    """
    resource = api.resource("v1", "Pod")
    if resource is None:
        raise TfgenError("the API server has no pods")
    return resource.at(namespace, pod["metadata"]["name"], subresource)


def _state(pods: Sequence[Object]) -> str:
    """How the newest of some pods is, and why."""
    state = task_state(_newest(pods))
    parts = [state.word, *((state.reason.word, state.reason.message) if state.reason else ())]
    return ": ".join(part for part in dict.fromkeys(parts) if part)


def _newest(pods: Sequence[Object]) -> Object:
    return max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
