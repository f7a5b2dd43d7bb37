"""Tests of the pods of a recorded run on a node that is not ready, and of the signs that a node is alive."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.recorded_run import read_recorded, read_run
from tests.support.tools import ROOT
from tfgen.kubernetes.object import Object
from tfgen.live.run_state import state_of_run
from tfgen.live.tasks import doubtful_nodes, lost_nodes, sign_of_life
from tfgen.report.status import as_text, rows

FAILED = Path(__file__).parent / "failed"
NOW = datetime(2026, 11, 22, 9, 50, tzinfo=UTC)
LINES = """\
lost:     ps-1 and worker-2 on node-2, which has not been ready for 6m (Kubelet stopped posting node status.); \
still in use: 2 GPUs and the claim mnist-model
fix:      if node-2 is off: kubectl taint nodes node-2 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute
fix:      or delete only these pods: tfgen release --lost
"""
SINCE = "2026-11-22T09:44:00Z"


def node(status: str, message: str = "") -> Object:
    condition = {"type": "Ready", "status": status, "message": message, "lastTransitionTime": SINCE}
    pressure = {"type": "MemoryPressure", "status": "Unknown"}
    return {"metadata": {"name": "node-2"}, "status": {"conditions": [pressure, condition]}}


def lease(renewed: str | None, seconds: int | None = 40) -> Object:
    return {"spec": {"renewTime": renewed, "leaseDurationSeconds": seconds}}


@pytest.mark.parametrize(
    ("item", "lease_object", "expected"),
    [
        (node("True"), lease("2026-11-22T09:40:00.000000Z"), "node-2 is ready"),
        (
            node("False", "container runtime is down"),
            lease("2026-11-22T09:40:00.000000Z"),
            "the kubelet of node-2 answers, and reports that the node is not ready (container runtime is down)",
        ),
        (
            node("Unknown"),
            lease("2026-11-22T09:49:21.500000Z"),
            "the kubelet of node-2 renewed its lease 38 s ago",
        ),
        (node("Unknown"), lease("2026-11-22T09:51:00Z"), "the kubelet of node-2 renewed its lease 0 s ago"),
        (
            node("Unknown"),
            lease("2026-11-22T09:49:15Z", 60),
            "the kubelet of node-2 renewed its lease 45 s ago",
        ),
        (node("Unknown"), lease("2026-11-22T09:49:15Z"), ""),
        (node("Unknown"), lease("2026-11-22T09:49:15Z", None), ""),
        (node("Unknown"), lease(None), ""),
        (node("Unknown"), None, ""),
        (
            {"metadata": {"name": "node-2"}, "status": {}},
            None,
            "the kubelet of node-2 answers, and reports that the node is not ready (no message)",
        ),
    ],
)
def test_a_node_does_not_answer_if_it_is_unknown_and_its_lease_is_old(
    item: Object, lease_object: Object | None, expected: str
) -> None:
    assert sign_of_life(item, lease_object, NOW) == expected


def with_claim(pod: Object) -> Object:
    changed: dict[str, Any] = copy.deepcopy(dict(pod))
    changed["spec"]["volumes"].append({"name": "model", "persistentVolumeClaim": {"claimName": "mnist-model"}})
    return changed


def test_status_names_the_tasks_of_a_lost_node_and_what_they_hold() -> None:
    snapshot, _, _ = read_recorded(FAILED / "cluster.json")
    pods = tuple(with_claim(pod) if pod["metadata"]["name"] == "mnist-ps-1" else pod for pod in snapshot.pods)
    lost_snapshot = snapshot.replaced(
        pods=pods, nodes={"node-2": node("Unknown", "Kubelet stopped posting node status.")}
    )
    state = state_of_run(read_run(FAILED / "job.yaml", None), lost_snapshot, "ml")
    shown = as_text(state, NOW)
    assert [line for line in shown.splitlines() if line.startswith(("lost:", "fix:"))] == LINES.splitlines()
    assert rows([state])[0]["lost"] == [
        {
            "node": "node-2",
            "since": SINCE,
            "message": "Kubelet stopped posting node status.",
            "answers": False,
            "tasks": ["ps-1", "worker-2"],
            "pods": ["mnist-ps-1", "mnist-worker-2"],
            "gpus": 2,
            "claims": ["mnist-model"],
        }
    ]


def test_a_node_whose_kubelet_answers_has_no_fix() -> None:
    snapshot, _, _ = read_recorded(FAILED / "cluster.json")
    lost_snapshot = snapshot.replaced(nodes={"node-2": node("False", "runtime is down")})
    shown = as_text(state_of_run(read_run(FAILED / "job.yaml", None), lost_snapshot, "ml"), NOW)
    assert (
        "lost:     ps-1 and worker-2 on node-2, which has not been ready for 6m (runtime is down); "
        "still in use: 2 GPUs\n" in shown
    )
    assert "fix:" not in shown


def test_a_ready_node_and_a_pod_that_has_ended_are_not_lost() -> None:
    snapshot, _, _ = read_recorded(FAILED / "cluster.json")
    chief = next(pod for pod in snapshot.pods if pod["metadata"]["name"].startswith("mnist-chief"))
    assert chief["status"]["phase"] == "Failed"
    name = chief["spec"]["nodeName"]
    assert [*lost_nodes([chief], {name: node("Unknown")})] == []
    assert [*lost_nodes(snapshot.pods, {"node-2": node("True")})] == []


def test_the_nodes_of_marked_and_leaving_pods_are_doubtful() -> None:
    snapshot, _, _ = read_recorded(FAILED / "cluster.json")
    assert doubtful_nodes(snapshot.pods) == set()
    pods = {pod["metadata"]["name"]: copy.deepcopy(dict(pod)) for pod in snapshot.pods}
    for condition in pods["mnist-ps-0"]["status"]["conditions"]:
        if condition["type"] == "Ready":
            condition["status"] = "False"
    pods["mnist-ps-1"]["metadata"]["deletionTimestamp"] = SINCE
    assert doubtful_nodes(pods.values()) == {pods[name]["spec"]["nodeName"] for name in ("mnist-ps-0", "mnist-ps-1")}


def test_the_page_shows_these_lines() -> None:
    assert f"```\n{LINES}```\n" in (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
