"""Tests of the reason why a run missed its start deadline, from the events of pods that no longer exist.

The messages come from kube-scheduler 1.36: pkg/scheduler/schedule_one.go and pkg/scheduler/framework/types.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from tfgen.live.run import DeclaredRun, End, Snapshot, missed_start

FULL = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. no new claims to deallocate."
TAINTED = "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
CHIEF = ("batch/v1", "Job", "mnist-chief")
WORKERS = ("apps/v1", "StatefulSet", "mnist-worker")
FINISHER = ("batch/v1", "Job", "mnist-finisher")

RUN = DeclaredRun(
    job="mnist",
    full_name="mnist",
    environment=None,
    run="",
    namespace="ml",
    cluster=None,
    is_enabled=True,
    roles={"worker": 2},
    controllers={"worker": WORKERS},
    deciding_object=CHIEF,
    finisher=FINISHER,
)


def item(kind: tuple[str, str, str], spec: dict[str, Any], **status: Any) -> dict[str, Any]:
    metadata = {"name": kind[2], "uid": kind[2], "creationTimestamp": "2026-11-22T09:45:00Z"}
    return {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata, "spec": spec, "status": status}


def template(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "tensorflow", **container}]}}


def event(pod: str, message: str, at: str = "2026-11-22T09:45:01Z") -> dict[str, Any]:
    return {
        "metadata": {"creationTimestamp": at},
        "involvedObject": {"kind": "Pod", "name": pod},
        "reason": "FailedScheduling",
        "message": message,
    }


def reason(*events: dict[str, Any]) -> str:
    complete = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-22T09:46:00Z"}
    objects = {
        CHIEF: item(CHIEF, {"suspend": True}),
        WORKERS: item(WORKERS, {"template": template(resources={"limits": {"nvidia.com/gpu": 50}})}),
        FINISHER: item(FINISHER, {"template": template(args=["--start-deadline=5"])}, conditions=[complete]),
    }
    end = missed_start(RUN, Snapshot(objects=objects, warnings=events))
    assert isinstance(end, End)
    return end.message


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([event("mnist-worker-0", FULL)], "worker lacks 50 nvidia.com/gpu"),
        ([event("mnist-worker-0", FULL), event("mnist-worker-1", FULL)], "worker lacks 100 nvidia.com/gpu"),
        (
            [
                event("mnist-worker-0", FULL),
                event("mnist-worker-1", FULL),
                event("mnist-worker-1", "skip schedule deleting pod: ml/mnist-worker-1"),
            ],
            "worker lacks 100 nvidia.com/gpu",
        ),
        (
            [
                event("mnist-worker-0", TAINTED),
                event("mnist-worker-0", "skip schedule deleting pod: ml/mnist-worker-0"),
            ],
            f"worker: FailedScheduling: {TAINTED}",
        ),
        (
            [event("mnist-worker-0", FULL, "2026-11-22T09:44:59Z"), event("mnist-worker-1", FULL)],
            "worker lacks 50 nvidia.com/gpu",
        ),
    ],
    ids=["one pod", "two pods", "deleted while it waits", "no resource", "pod of an earlier run"],
)
def test_reason(events: list[dict[str, Any]], text: str) -> None:
    assert reason(*events) == f"not started within 5 s: {text}"
