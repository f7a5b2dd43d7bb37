"""model.fit trains in the pods that tfgen renders: tf_keras under both strategies, and Keras 3 on JAX."""

from __future__ import annotations

import re

import pytest

from tests.e2e.node.test_dist_mnist import MakeJob

DONE = r"done: .*accuracy (0\.9\d+|1\.0+), model in /model/(\d/)?"
LOSS = r"64/64 - .* - loss: ([\d.e-]+)"


@pytest.mark.nightly
def test_model_fit_trains_and_the_tasks_are_released(job: MakeJob) -> None:
    """The jobs of the three examples train at the same time."""
    epochs = {"args": ["--epochs=3"]}
    mirrored, jax = job("keras-mirrored", epochs), job("keras-distribution", {"args": ["--epochs=8"]})
    ps = job("keras-ps", {**epochs, "roles": {"ps": {"replicas": 1}, "worker": {"replicas": 1}}})
    ends = {mirrored: "worker", jax: "worker", ps: "chief"}
    for training in ends:
        training.apply()
    # The workers on JAX have different samples, so equal losses prove that the workers train one model. The test
    # compares the losses of the first epoch, because Kubernetes deletes the log of worker 1 if worker 0 ends first.
    losses = [jax.wait_for_line(LOSS, "worker", index)[1] for index in (1, 0)]
    assert losses[0] == losses[1]
    for training, role in ends.items():
        assert training.wait_for_end(role) == "Complete"
        assert re.search(DONE, training.log(role)), training.log(role)
        training.wait_until_free()
    ps.wait_until_released()
    assert (ps.replicas("ps"), ps.replicas("worker")) == (0, 0)
