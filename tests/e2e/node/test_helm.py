"""The chart of examples/dist-mnist with Helm 4: install, upgrade, a new run, rollback, uninstall, and two releases."""

from __future__ import annotations

from tests.e2e.client import Object
from tests.e2e.node.node_job import COUNTING, NodeJob, merge
from tests.e2e.node.test_dist_mnist import MakeJob
from tests.e2e.real_node import Node

SMALLEST = {"roles": {"ps": {"replicas": 1}, "worker": {"replicas": 1}}}


def test_a_release_from_install_to_uninstall(job: MakeJob, node: Node, namespace: str) -> None:
    training: NodeJob = job("dist-mnist", merge(SMALLEST, {**COUNTING, "args": ["--steps=50"]}))
    training.helm("install", training.name, *training.chart)
    for role in ("ps", "worker", "chief"):
        training.pod(role)

    # An upgrade without a new run changes no pod of the current run.
    before = _uids(training.pods())
    training.helm("upgrade", training.name, *training.chart)
    assert training.wait_for_end() == "Complete"
    assert before >= _uids(training.pods("chief"))
    assert training.log("chief").count("step 50") == 2  # the step, and the end
    training.wait_until_released()

    # A new run continues from the job's own volume. The objects of the previous run no longer exist.
    training.helm("upgrade", training.name, *training.chart, "--set=run=2", "--set=args={--steps=70}")
    training.run = "2"
    assert training.wait_for_end() == "Complete"
    assert "starts at step 50\n" in training.log("chief")
    assert node.client.find("StatefulSet", "dist-mnist-worker", namespace) is None
    training.wait_until_released()

    # After the rollback, the first run finds the last step of the second run, and has no steps left.
    training.helm("rollback", training.name, "1")
    training.run = ""
    assert training.wait_for_end() == "Complete"
    assert "starts at step 70\n" in training.log("chief")
    training.wait_until_released()

    training.helm("uninstall", training.name, "--wait")
    claim = node.client.get("PersistentVolumeClaim", "dist-mnist-model", namespace)
    assert claim["status"]["phase"] == "Bound"
    assert (training.folders["model"] / "step").read_text(encoding="utf-8") == "70"
    assert node.client.list("StatefulSet", namespace) == node.client.list("Job", namespace) == []


def test_two_releases_train_side_by_side(job: MakeJob, node: Node, namespace: str) -> None:
    training: NodeJob = job("single-gpu", {**COUNTING, "args": ["--steps=50"]})
    node.volume("second-single-gpu-model", namespace)
    training.helm("install", training.name, *training.chart)
    training.helm("install", "second", *training.chart)
    second = training.release("second")
    assert training.wait_for_end() == second.wait_for_end() == "Complete"
    assert "done: step 50" in training.log("chief")
    assert "done: step 50" in second.log("chief")


def _uids(pods: list[Object]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}
