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
from tfgen.live.run_state import state_of_run
from tfgen.live.snapshot import Snapshot
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


def test_a_refused_pod_is_no_reason_after_its_stateful_set_is_scaled_to_0() -> None:
    folder, identity = Path(__file__).parent / "quota", ("apps/v1", "StatefulSet", "mnist-worker")
    snapshot, _, _ = read_recorded(folder / "cluster.json")
    worker = snapshot.objects[identity]
    released = {**snapshot.objects, identity: worker | {"spec": worker["spec"] | {"replicas": 0}}}
    state = state_of_run(read_run(folder / "job.yaml", None), snapshot.replaced(objects=released), "ml")
    assert [cause.subjects for cause in state.causes] == [("finisher",)]


def test_the_finisher_writes_the_annotation_by_which_a_start_is_known() -> None:
    assert finisher.STARTED == keys.STARTED


def test_there_are_cases() -> None:
    assert len(CASES) > 5
