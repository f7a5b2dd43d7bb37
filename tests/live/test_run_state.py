"""Tests of the states of runs that were recorded in real clusters.

Each run has a folder with job.yaml, cluster.json (see tests/support/recorded_run.py) and status.txt, the output of
``tfgen status``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.recorded_run import read_recorded, read_run
from tfgen.graph.programs import finisher
from tfgen.kubernetes import keys
from tfgen.live.run import Snapshot
from tfgen.live.run_state import state_of_run
from tfgen.report.status import as_line, as_text

SUCCEEDED = Path(__file__).parent / "succeeded"
CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/cluster.json"))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_recorded_run_is_judged(case: Path) -> None:
    snapshot, environment, now = read_recorded(case / "cluster.json")
    run = read_run(case / "job.yaml", environment)
    assert as_text(state_of_run(run, snapshot, "ml"), now) == (case / "status.txt").read_text(encoding="utf-8")


IMAGE: dict[str, Any] = {
    "phase": "Pending",
    "containerStatuses": [
        {
            "name": "finisher",
            "ready": False,
            "restartCount": 0,
            "state": {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "pythn:3"'}},
        }
    ],
}
LOG = "2026-11-22T09:45:50Z jobs/mnist-chief: waiting for its end\n2026-11-22T09:46:07Z jobs/mnist-chief: timed out\n"


def test_a_finisher_that_does_not_run_is_a_reason_also_after_the_end() -> None:
    snapshot, _, now = read_recorded(SUCCEEDED / "cluster.json")
    pods = tuple(pod | {"status": IMAGE} if "finisher" in pod["metadata"]["name"] else pod for pod in snapshot.pods)
    state = state_of_run(read_run(SUCCEEDED / "job.yaml", None), snapshot.replaced(pods=pods), "ml")
    assert as_text(state, now).split("GPUs: ")[1].splitlines() == [
        "    6 in use",
        "finisher: Pending",
        "held:     nodes of ps and worker; to free the nodes now: tfgen release",
        'why:      finisher: ImagePullBackOff: Back-off pulling image "pythn:3"',
    ]


def test_the_last_line_of_a_finisher_that_cannot_release_is_shown() -> None:
    snapshot, _, now = read_recorded(SUCCEEDED / "cluster.json")
    state = state_of_run(
        read_run(SUCCEEDED / "job.yaml", None), snapshot.replaced(logs={"mnist-finisher-77h56": LOG}), "ml"
    )
    assert as_text(state, now).split("GPUs: ")[1].splitlines() == [
        "    6 in use",
        "finisher: Releasing: 2026-11-22T09:46:07Z jobs/mnist-chief: timed out",
        "held:     nodes of ps and worker; to free the nodes now: tfgen release",
    ]


def test_the_numbers_are_those_of_the_cluster_after_an_edit_that_it_refused(tmp_path: Path) -> None:
    folder = Path(__file__).parent / "gang"
    edited = tmp_path / "job.yaml"
    text = (folder / "job.yaml").read_text(encoding="utf-8")
    edited.write_text(text.replace("worker: {replicas: 4", "worker: {replicas: 2"), encoding="utf-8")
    snapshot, _, now = read_recorded(folder / "cluster.json")
    shown = as_text(state_of_run(read_run(edited, None), snapshot, "ml"), now)
    before = (folder / "status.txt").read_text(encoding="utf-8")
    assert shown.splitlines() == [
        *before.splitlines(),
        "differs:  worker: the cluster has 4 tasks, but job.yaml sets 2",
        "differs:  gang mnist: the object in the cluster requires 7 pods, but job.yaml sets 5",
    ]


PODS_DIFFER = "all pods in a single pod group should have the same priority as the pod group's priority, got 10 and 0"
CURE = "; the PodGroup cannot change, so set one priorityClassName, and start a new run: tfgen rerun"


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({}, ""),
        ({"conditions": [{"type": "Unschedulable", "status": "True", "message": "queue is full"}]}, ": queue is full"),
        ({"conditions": [{"type": "PodGroupScheduled", "status": "False", "message": "no room"}]}, ": no room"),
        ({"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True", "message": "was ready"}]}, ""),
        (
            {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "False", "message": PODS_DIFFER}]},
            f": {PODS_DIFFER}{CURE}",
        ),
        (
            {
                "schedulingConditions": [
                    {
                        "type": "UnschedulableOnNodePool",
                        "status": "True",
                        "reasons": [{"reason": "QueueDoesNotExist", "message": "Queue 'a' does not exist"}],
                    }
                ]
            },
            ": Queue 'a' does not exist",
        ),
    ],
    ids=["no status", "Volcano", "Kubernetes 1.36", "Kubernetes 1.37 after a start", "Kubernetes 1.37", "KAI"],
)
def test_the_reason_of_each_scheduler_why_a_gang_waits(status: dict[str, Any], reason: str) -> None:
    folder = Path(__file__).parent / "gang"
    snapshot, _, _ = read_recorded(folder / "cluster.json")
    group = ("scheduling.k8s.io/v1alpha2", "PodGroup", "mnist")
    waiting = snapshot.replaced(objects={**snapshot.objects, group: {**snapshot.objects[group], "status": status}})
    text = f"gang mnist: Pending: 0 of 7 pods have a node; the gang waits for 7 more{reason}"
    assert text in causes(folder / "job.yaml", waiting)


def unfinished(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot for the moment when the chief has ended, but its Job has no condition yet."""
    lead = ("batch/v1", "Job", "mnist-chief")
    return snapshot.replaced(objects={**snapshot.objects, lead: snapshot.objects[lead] | {"status": {"active": 1}}})


def test_a_run_whose_chief_is_done_is_not_pending_until_its_job_ends() -> None:
    snapshot, _, _ = read_recorded(SUCCEEDED / "cluster.json")
    assert state_of_run(read_run(SUCCEEDED / "job.yaml", None), unfinished(snapshot), "ml").phase == "Partial"


def test_a_line_has_all_reasons_and_a_failed_probe_last() -> None:
    snapshot, _, _ = read_recorded(SUCCEEDED / "cluster.json")
    (ps,) = (pod for pod in snapshot.pods if pod["metadata"]["name"] == "mnist-ps-0")
    unready = ps | {"status": ps["status"] | {"conditions": [{"type": "Ready", "status": "False"}]}}
    event = {
        "metadata": {"name": "e", "creationTimestamp": "2026-11-22T09:46:00Z"},
        "involvedObject": {"kind": "Pod", "name": "mnist-ps-0", "uid": ps["metadata"]["uid"]},
        "reason": "Unhealthy",
        "message": "Readiness probe failed",
    }
    pods = tuple(unready if pod is ps else pod for pod in snapshot.pods)
    warned = unfinished(snapshot).replaced(pods=pods, warnings=(*snapshot.warnings, event))
    line = as_line(state_of_run(read_run(SUCCEEDED / "job.yaml", None), warned, "ml"))
    assert line.startswith("mnist: Partial, 5/7 ready, worker-3: Unschedulable: 0/3 nodes are available")
    assert line.endswith(", ps-0: Unhealthy: Readiness probe failed")


QUOTA = Path(__file__).parent / "quota"
WORKER = ("apps/v1", "StatefulSet", "mnist-worker")
CHIEF = ("batch/v1", "Job", "mnist-chief")


def causes(job: Path, snapshot: Snapshot) -> list[str]:
    return [str(cause) for cause in state_of_run(read_run(job, None), snapshot, "ml").causes]


def changed(snapshot: Snapshot, identity: tuple[str, str, str], **spec: Any) -> Snapshot:
    """Return the snapshot with other fields in the spec of an object; without fields, without the object."""
    item = snapshot.objects[identity]
    objects = {**snapshot.objects, identity: item | {"spec": item["spec"] | spec}}
    return snapshot.replaced(objects=objects if spec else {k: v for k, v in objects.items() if k != identity})


def test_a_refused_pod_is_no_reason_after_its_stateful_set_is_scaled_to_0() -> None:
    snapshot, _, _ = read_recorded(QUOTA / "cluster.json")
    worker, *others = causes(QUOTA / "job.yaml", changed(snapshot, WORKER, replicas=0))
    assert worker == (
        "worker: ScaledToZero: StatefulSet mnist-worker has replicas 0; to start the tasks, set replicas to 4"
    )
    assert [text.partition(":")[0] for text in others] == ["finisher"]


def test_a_role_without_the_object_that_creates_its_tasks_has_a_reason() -> None:
    snapshot, _, _ = read_recorded(SUCCEEDED / "cluster.json")
    running = unfinished(snapshot)
    fix = "apply or sync the job again, or free the nodes: tfgen release"
    missing = f"worker: Missing: the cluster has no StatefulSet mnist-worker; {fix}"
    assert missing in causes(SUCCEEDED / "job.yaml", changed(running, WORKER))
    refused = running.replaced(unreadable=("StatefulSet: 403: statefulsets.apps is forbidden",))
    assert missing not in causes(SUCCEEDED / "job.yaml", changed(refused, WORKER))
    assert missing not in causes(SUCCEEDED / "job.yaml", changed(snapshot, WORKER)), "the run has ended"


def test_a_run_without_its_chief_s_job_is_not_absent_while_its_pods_run() -> None:
    snapshot, _, now = read_recorded(SUCCEEDED / "cluster.json")
    state = state_of_run(read_run(SUCCEEDED / "job.yaml", None), changed(snapshot, CHIEF), "ml")
    text = as_text(state, now)
    assert text.startswith("mnist in ml: Partial\n\nTASK ")
    assert "why:      chief: Missing: the cluster has no Job mnist-chief; apply or sync the job again" in text
    nothing = state_of_run(state.run, Snapshot(), "ml")
    assert (nothing.phase, nothing.causes) == ("Absent", ())
    leaving = [
        pod | {"metadata": pod["metadata"] | {"deletionTimestamp": "2026-11-22T09:46:30Z"}} for pod in snapshot.pods
    ]
    deleted = [pod for pod in leaving if pod["status"]["phase"] != "Succeeded"]
    assert state_of_run(state.run, Snapshot(tuple(deleted)), "ml").phase == "Absent"


def event(pod: Any, reason: str, at: str) -> dict[str, Any]:
    involved = {"kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    metadata = {"name": "e", "creationTimestamp": at}
    return {"metadata": metadata, "involvedObject": involved, "reason": reason, "message": "the message"}


def test_a_pod_that_is_being_deleted_has_this_reason_and_not_an_old_event() -> None:
    snapshot, _, _ = read_recorded(SUCCEEDED / "cluster.json")
    (ps,) = (pod for pod in snapshot.pods if pod["metadata"]["name"] == "mnist-ps-0")
    leaving = ps | {"metadata": ps["metadata"] | {"deletionTimestamp": "2026-11-22T09:46:30Z"}}
    pods = tuple(leaving if pod is ps else pod for pod in snapshot.pods)
    warned = unfinished(snapshot).replaced(pods=pods, warnings=(event(ps, "FailedScheduling", "2026-11-22T09:45:00Z"),))
    assert "ps-0: Terminating: the pod is being deleted" in causes(SUCCEEDED / "job.yaml", warned)
    assert "FailedScheduling" not in str(causes(SUCCEEDED / "job.yaml", warned))


@pytest.mark.parametrize(
    ("at", "is_shown"),
    [("2026-11-22T09:45:09Z", False), ("2026-11-22T09:45:10Z", True), ("2026-11-22T09:45:59Z", True)],
)
def test_an_event_from_before_the_last_step_of_a_pod_is_no_reason(at: str, is_shown: bool) -> None:
    """https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-conditions."""
    snapshot, _, _ = read_recorded(SUCCEEDED / "cluster.json")
    (ps,) = (pod for pod in snapshot.pods if pod["metadata"]["name"] == "mnist-ps-0")
    conditions = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-22T09:45:08Z"},
        {"type": "Initialized", "status": "True", "lastTransitionTime": "2026-11-22T09:45:10Z"},
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-22T09:45:20Z"},
    ]
    unready = ps | {"status": ps["status"] | {"conditions": conditions}}
    pods = tuple(unready if pod is ps else pod for pod in snapshot.pods)
    warned = unfinished(snapshot).replaced(pods=pods, warnings=(event(ps, "FailedMount", at),))
    assert ("ps-0: FailedMount: the message" in causes(SUCCEEDED / "job.yaml", warned)) == is_shown


def test_the_finisher_writes_the_annotation_by_which_a_start_is_known() -> None:
    assert finisher.STARTED == keys.STARTED


def test_there_are_cases() -> None:
    assert len(CASES) > 5
