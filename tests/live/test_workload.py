"""Tests of the reason why a run waits in a queue of Kueue, from the conditions of its Workload.

The texts come from Kueue 0.19.2: pkg/controller/core/workload_controller.go, pkg/scheduler/scheduler.go and
pkg/workload/workload.go of https://github.com/kubernetes-sigs/kueue/tree/v0.19.2.
"""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.support.generated import job as job_document
from tfgen.graph.graph import build, task_objects
from tfgen.live.api import Api, ApiError, Resource
from tfgen.live.clusters import read_snapshot
from tfgen.live.run import DeclaredRun, StatusReason, declared_run
from tfgen.live.run_state import queue_reason, state_of_run, workload_of

NO_QUOTA = "couldn't assign flavors to pod set worker: insufficient unused quota for cpu in flavor t4, 2 more needed"


def job(*, suspend: bool = True) -> dict[str, Any]:
    metadata = {
        "name": "mnist-worker",
        "uid": "6f1c",
        "labels": {"kueue.x-k8s.io/queue-name": "research"},
        "creationTimestamp": "2026-11-22T09:44:47Z",
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"suspend": suspend}}


def condition(name: str, status: str, reason: str, message: str = "") -> dict[str, str]:
    return {"type": name, "status": status, "reason": reason, "message": message}


def workload(*conditions: dict[str, str], active: bool = True, **status: Any) -> dict[str, Any]:
    metadata = {
        "name": "job-mnist-worker-1",
        "creationTimestamp": "2026-11-22T09:44:47Z",
        "labels": {"kueue.x-k8s.io/job-uid": "6f1c"},
    }
    return {"metadata": metadata, "spec": {"active": active}, "status": {"conditions": [*conditions], **status}}


RESERVED = condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue all")


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (
            workload(condition("QuotaReserved", "False", "Inadmissible", "LocalQueue research doesn't exist")),
            StatusReason("Inadmissible", "LocalQueue research doesn't exist"),
        ),
        (workload(condition("QuotaReserved", "False", "Pending", NO_QUOTA)), StatusReason("Pending", NO_QUOTA)),
        (
            workload(
                condition("Evicted", "True", "Preempted", "Preempted to accommodate a higher priority Workload"),
                condition("QuotaReserved", "False", "Pending", NO_QUOTA),
            ),
            StatusReason("Evicted", f"Preempted: Preempted to accommodate a higher priority Workload; {NO_QUOTA}"),
        ),
        (
            workload(condition("Evicted", "True", "Deactivated", "The workload is deactivated"), active=False),
            StatusReason("Deactivated", "The workload is deactivated"),
        ),
        (
            workload(RESERVED, admissionChecks=[{"name": "dws", "state": "Pending", "message": "no capacity yet"}]),
            StatusReason("QuotaReserved", "the quota is reserved; the Workload waits for dws: no capacity yet"),
        ),
        (workload(RESERVED, condition("Admitted", "True", "Admitted")), None),
        (workload(RESERVED, condition("Finished", "True", "Succeeded")), None),
        (workload(), StatusReason("Pending", "Kueue has not processed the Workload yet")),
    ],
    ids=["no-queue", "no-quota", "preempted", "deactivated", "check", "admitted", "finished", "new"],
)
def test_the_reason_is_that_of_the_workload(item: dict[str, Any], reason: StatusReason | None) -> None:
    assert workload_of(job(), [item]) is item
    assert queue_reason(job(), item) == reason


def test_a_suspended_object_without_a_workload_names_kueue() -> None:
    reason = queue_reason(job(), workload_of(job(), []))
    text = "Kueue has created no Workload; check that Kueue runs and manages this kind of object"
    assert reason == StatusReason("NoWorkload", text)
    assert queue_reason(job(suspend=False), None) is None


def test_the_workload_of_an_earlier_object_of_the_name_is_left_out() -> None:
    assert workload_of({**job(), "metadata": {"name": "mnist-worker", "uid": "another"}}, [workload()]) is None


class QueueApi:
    """A client of a cluster in which the run waits as the second of three Workloads."""

    def __init__(self, *, is_allowed: bool) -> None:
        self.is_allowed = is_allowed

    def resource(self, version: str, kind: str) -> Resource:
        return Resource(f"/apis/{version}", kind, True)

    def objects(self, resource: Resource, _namespace: str, _query: Any) -> list[dict[str, Any]]:
        waiting = workload(condition("QuotaReserved", "False", "Pending", NO_QUOTA))
        return {"Job": [job()], "Workload": [waiting]}.get(resource.name, [])

    def data(self, _method: str, path: str) -> Any:
        if not self.is_allowed:
            raise ApiError("pendingworkloads is forbidden", 403)
        assert path == "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/ml/localqueues/research/pendingworkloads"
        names = {"other-2": 2, "job-mnist-worker-1": 1, "other-0": 0}
        return {"items": [{"metadata": {"name": name}, "positionInLocalQueue": at} for name, at in names.items()]}


@pytest.mark.parametrize(("is_allowed", "place"), [(True, "; place 2 of 3 in the queue"), (False, "")])
def test_the_place_in_the_queue_is_shown_if_the_role_allows_it(is_allowed: bool, place: str) -> None:
    run = queued_run()
    snapshot = read_snapshot(cast("Api", QueueApi(is_allowed=is_allowed)), "ml", [run])
    (cause,) = state_of_run(run, snapshot, "ml").causes
    assert cause.reason == StatusReason("Pending", NO_QUOTA + place)


def queued_run() -> DeclaredRun:
    spec = {
        "strategy": "MultiWorkerMirrored",
        "workload": {"kind": "Job"},
        "roles": {"worker": {"replicas": 2}},
        "gang": {"scheduler": "kueue", "queue": "research"},
    }
    data = job_document(**spec)
    return declared_run(build(data), task_objects(data, None), None)
