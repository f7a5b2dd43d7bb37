"""The pod of a task or of TensorBoard, and the reason why a command finds no running pod."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.recorded_run import read_run
from tfgen.errors import TfgenError
from tfgen.kubernetes.object import Object
from tfgen.live import clusters
from tfgen.live.api import Api

API = cast("Api", None)
RUN = read_run(Path(__file__).parent / "gpus" / "job.yaml", None)
"""A run with a chief, two ps and four workers."""

UNSCHEDULABLE = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."


def pod(role: str, index: int, phase: str, *, created: str = "2026-11-22T09:00:00Z", **state: Any) -> Object:
    """Return a pod with one container, whose state has one entry, such as `running={}`."""
    name = f"{RUN.full_name}-{role}-{index}"
    labels = {"tfgen/role": role, "apps.kubernetes.io/pod-index": str(index)}
    container = {"name": "tensorflow", "ready": "running" in state, "restartCount": 0, "state": state}
    return {
        "metadata": {"name": name, "uid": created, "labels": labels, "creationTimestamp": created},
        "spec": {"containers": [{"name": "tensorflow"}]},
        "status": {"phase": phase, "containerStatuses": [container] if state else []},
    }


def unscheduled(role: str, index: int) -> Object:
    waiting = pod(role, index, "Pending")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": UNSCHEDULABLE}
    return {**waiting, "status": {**waiting["status"], "conditions": [condition]}}


@pytest.fixture
def pods(monkeypatch: pytest.MonkeyPatch) -> list[Object]:
    """Return the list of pods that the cluster has."""
    found: list[Object] = []
    monkeypatch.setattr(clusters, "read_pods", lambda *_: found)
    return found


def test_the_newest_running_pod_of_the_task_is_taken() -> None:
    pods = [
        pod("worker", 0, "Running", running={}),
        pod("worker", 1, "Running", running={}),
        pod("worker", 1, "Running", created="2026-11-22T10:00:00Z", running={}),
        pod("worker", 1, "Pending", created="2026-11-22T11:00:00Z"),
    ]
    assert clusters.task_pod(pods, "ml", RUN, "worker", 1) is pods[2]


def test_a_task_without_a_pod_is_an_error_with_the_tasks_of_the_run() -> None:
    with pytest.raises(TfgenError, match=r"worker-2 has no pod in the namespace ml; the run has no task$"):
        clusters.task_pod([], "ml", RUN, "worker", 2)
    pods = [pod("worker", 0, "Running", running={}), pod("ps", 1, "Pending"), pod("finisher", 0, "Running")]
    with pytest.raises(TfgenError, match=r"worker-2 has no pod in the namespace ml; the run has ps-1 and worker-0$"):
        clusters.task_pod(pods, "ml", RUN, "worker", 2)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (pod("worker", 0, "Succeeded", terminated={"exitCode": 0, "reason": "Completed"}), "Completed"),
        (unscheduled("worker", 0), f"Pending: Unschedulable: {UNSCHEDULABLE}"),
    ],
    ids=["ended", "without a node"],
)
def test_a_task_that_does_not_run_is_an_error_with_its_reason(found: Object, reason: str) -> None:
    with pytest.raises(TfgenError) as caught:
        clusters.task_pod([found], "ml", RUN, "worker", 0)
    assert str(caught.value) == f"{RUN.title}: worker-0 does not run: {reason}"


def test_a_tensorboard_that_is_not_ready_is_an_error_with_its_reason(pods: list[Object]) -> None:
    waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
    pods.append(pod("tensorboard", 0, "Pending", waiting=waiting))
    with pytest.raises(TfgenError) as caught:
        clusters.tensorboard_pod(API, "ml", RUN)
    assert str(caught.value) == f"{RUN.title}: TensorBoard is not ready: ImagePullBackOff: no such image"
