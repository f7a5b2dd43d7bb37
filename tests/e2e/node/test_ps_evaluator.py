"""examples/ps-evaluator: an evaluator beside the training, TensorBoard on the logs of both, and egress only for DNS."""

from __future__ import annotations

import pytest

from tests.e2e.client import eventually
from tests.e2e.node.node_job import PATIENCE, NodeJob
from tests.e2e.node.probe import API_SERVER, Probe
from tests.e2e.node.test_dist_mnist import GOOD, MakeJob, final_accuracy, steps
from tests.e2e.real_node import Node


@pytest.mark.nightly
def test_evaluates_shows_and_ends(job: MakeJob, node: Node, namespace: str) -> None:
    training: NodeJob = job(
        "ps-evaluator",
        {
            "args": ["--steps=600", "--checkpoint-every=200"],
            "roles": {"ps": {"replicas": 1}, "worker": {"replicas": 1}},
            "completion": {"evaluatorGrace": 90},
            "network": {"egress": {"limited": True, "rules": [API_SERVER]}},
        },
    )
    training.apply()
    assert training.wait_for_end() == "Complete"
    assert steps(training.log("chief")) == [200, 400, 600]
    assert final_accuracy(training.log("chief")) > GOOD

    # The evaluator has a grace period, in which it reaches the last checkpoint. Then the finisher suspends the
    # evaluator.
    training.wait_for_line(r"INFO step 600: accuracy 0\.\d+", "evaluator")
    reader = Probe(node, "reader", namespace)
    eventually(lambda: _served(reader, "http://ps-evaluator-tensorboard:6006/"), "TensorBoard", PATIENCE)
    runs = reader.fetch("http://ps-evaluator-tensorboard:6006/data/runs")
    assert all(run in runs for run in ('"1/logs/train"', '"1/logs/eval"'))

    training.wait_until_released()
    assert (training.replicas("ps"), training.replicas("worker")) == (0, 0)
    assert training.object("Job", "evaluator")["spec"]["suspend"] is True


def _served(reader: Probe, url: str) -> bool:
    return "<title>TensorBoard</title>" in reader.fetch(url)
