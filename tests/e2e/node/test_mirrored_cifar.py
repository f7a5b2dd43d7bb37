"""examples/mirrored-cifar trains in the pods that tfgen renders: three workers in step, and TensorBoard."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from tests.e2e.node.node_job import NodeJob

MakeJob = Callable[..., NodeJob]

INDEX = "batch.kubernetes.io/job-completion-index"
GOOD = 0.75
"""Accuracy that a model exceeds after these steps; chance is 0.1."""


def test_a_lost_worker_of_three_is_waited_for(job: MakeJob) -> None:
    training = job(
        "mirrored-cifar",
        {"args": ["--steps=300", "--checkpoint-every=25"], "roles": {"worker": {"replicas": 3}}},
    )
    training.apply()
    training.wait_for_line(r"INFO step 25:", "worker")
    training.kill("worker", 1)
    training.wait_for_line(r"INFO resumed from ", "worker")
    # All began again; one that came before another had seen the loss may have done so twice. This is asked before the
    # end: once the first worker succeeds, the Job removes the pods of the others that still run.
    starts = Counter(pod["metadata"]["labels"][INDEX] for pod in training.pods("worker"))
    assert {index for index, number in starts.items() if number >= 2} == {"0", "1", "2"}
    assert training.wait_for_end("worker") == "Complete"
    log = training.log("worker")
    resumed = re.search(r"resumed from \S+/ckpt-(\d+) at step (\d+)$", log, re.MULTILINE)
    assert resumed, log
    steps = [int(step) for step in re.findall(r"INFO step (\d+):", log)]
    assert steps == [*range(25, 301, 25)]
    accuracy = re.search(r"done: step 300, accuracy ([\d.]+)", log)
    assert accuracy, log
    assert float(accuracy[1]) > GOOD
    assert (training.folders["model"] / "1" / "checkpoints" / "ckpt-300.index").exists()
