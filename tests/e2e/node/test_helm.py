"""The chart of examples/dist-mnist with Helm 4: install, upgrade, a new run, rollback, uninstall, and two releases."""

from __future__ import annotations

from tests.e2e.client import Object
from tests.e2e.node.node_job import NodeJob
from tests.e2e.node.test_dist_mnist import MakeJob, steps, with_steps
from tests.e2e.real_node import Node


def test_a_release_from_install_to_uninstall(job: MakeJob, node: Node, namespace: str) -> None:
    training: NodeJob = job("dist-mnist", with_steps(600, roles={"worker": {"replicas": 1}}))
    training.helm("install", training.name, *training.chart)
    for role in ("ps", "worker", "chief"):
        training.pod(role)

    # An upgrade without a new run changes no pod of the current run.
    before = _uids(training.pods())
    training.helm("upgrade", training.name, *training.chart)
    assert training.wait_for_end() == "Complete"
    assert before >= _uids(training.pods("chief"))
    assert steps(training.log("chief")) == [*range(50, 601, 50)]
    training.wait_until_released()

    # A new run continues from the job's own volume. The objects of the previous run no longer exist.
    training.helm("upgrade", training.name, *training.chart, "--set=run=2", "--set=args={--steps=700}")
    training.run = "2"
    assert training.wait_for_end() == "Complete"
    assert "at step 600" in training.log("chief")
    assert node.client.find("StatefulSet", "dist-mnist-worker", namespace) is None
    training.wait_until_released()

    # After the rollback, the first run finds the checkpoint of the second run, and has no steps left.
    training.helm("rollback", training.name, "1")
    training.run = ""
    assert training.wait_for_end() == "Complete"
    assert "at step 700" in training.log("chief")
    training.wait_until_released()

    training.helm("uninstall", training.name, "--wait")
    claim = node.client.get("PersistentVolumeClaim", "dist-mnist-model", namespace)
    assert claim["status"]["phase"] == "Bound"
    assert (training.folders["model"] / "checkpoints" / "ckpt-700.index").exists()
    assert node.client.list("StatefulSet", namespace) == node.client.list("Job", namespace) == []


def test_two_releases_train_side_by_side(job: MakeJob, node: Node, namespace: str) -> None:
    training: NodeJob = job("single-gpu", {"args": ["--steps=500"]})
    node.volume("second-single-gpu-model", namespace)
    training.helm("install", training.name, *training.chart)
    training.helm("install", "second", *training.chart)
    second = training.release("second")
    assert training.wait_for_end() == second.wait_for_end() == "Complete"
    assert "done: step 500" in training.log("chief")
    assert "done: step 500" in second.log("chief")


def _uids(pods: list[Object]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}
