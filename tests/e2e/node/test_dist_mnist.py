"""examples/dist-mnist trains in the pods that tfgen renders: parameter servers, workers and a chief."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.e2e.client import eventually
from tests.e2e.node.conftest import GPUS
from tests.e2e.node.node_job import COUNTING, PATIENCE, NodeJob, merge
from tests.e2e.real_node import Node
from tests.support.command import CommandError

MakeJob = Callable[..., NodeJob]

GOOD = 0.7
"""The accuracy that a trained model exceeds; chance is 0.1.

0.98 is usual. 0.89 happened when a worker that returned applied its first, late update among the last steps.
"""

GPU = {"resources": {"gpu": {"count": 1}}}
ENVIRONMENT = {
    "roles": {"ps": {"replicas": 1}, "worker": {"replicas": 2}},
}


def with_steps(steps: int, **more: object) -> object:
    """Return the environment with this number of steps, and a checkpoint after every 50 steps."""
    return merge(merge(ENVIRONMENT, {"args": [f"--steps={steps}", "--checkpoint-every=50"]}), more)


def final_accuracy(log: str) -> float:
    match = re.search(r"done: step \d+, accuracy ([\d.]+), model in \S+$", log, re.MULTILINE)
    assert match, log
    return float(match[1])


def steps(log: str) -> list[int]:
    """Return the steps at which the chief has saved, in the order of its log."""
    return [int(step) for step in re.findall(r"INFO step (\d+):", log)]


def test_a_job_at_its_end_frees_its_gpus_for_the_job_that_waits(job: MakeJob, node: Node) -> None:
    """The node has enough GPUs for only one of two jobs. The second job is the example single-gpu."""
    first = job("dist-mnist", merge(ENVIRONMENT, {**COUNTING, "roles": {"worker": {"replicas": GPUS, **GPU}}}))
    second = job("single-gpu", {**COUNTING, "args": ["--steps=20"], "roles": {"chief": GPU}})
    first.apply()
    for index in range(GPUS):
        first.pod("worker", index)
    second.apply()
    eventually(lambda: "Insufficient nvidia.com/gpu" in str(second.pods("chief")), "the second job's waiting", PATIENCE)

    assert first.run_in("worker", 0, "id", "-u").strip() == "1000"
    with pytest.raises(CommandError, match="Read-only file system"):
        first.run_in("worker", 0, "touch", "/opt/here")

    first.run_in("chief", 0, "touch", "/tmp/last")
    assert first.wait_for_end() == "Complete"
    first.wait_until_released()
    assert (first.replicas("ps"), first.replicas("worker")) == (0, 0)

    assert second.wait_for_end() == "Complete"
    assert "done: step 20" in second.log("chief")
    assert node.client.get("Job", second.object_name("chief"), second.namespace)["status"]["succeeded"] == 1
    assert first.wait_for_end("finisher") == "Complete"


def test_a_lost_worker_costs_no_step_and_a_killed_ps_the_steps_since_the_last_checkpoint(job: MakeJob) -> None:
    training = job("dist-mnist", with_steps(1500))
    training.apply()
    training.wait_for_line("INFO step 100:", "chief")
    training.delete_pod("worker", 1)
    training.pod("worker", 1)
    lost = steps(training.log("chief"))[-1]
    eventually(lambda: steps(training.log("chief"))[-1] > lost, "a step after the return of the worker", PATIENCE)
    log = training.log("chief")
    if len(training.pods("chief")) == 1:
        assert "resumed from" not in log
    else:  # TensorFlow blames a ps if the new worker cannot reach the ps at once (gRPC's back-off)
        assert "lost a parameter server" in log, log

    training.kill("ps", 0)
    assert training.wait_for_end() == "Complete"
    log = training.log("chief")
    before, _, after = log.partition("lost a parameter server")
    resumed = re.search(r"resumed from \S+/ckpt-(\d+) at step (\d+)$", after, re.MULTILINE)
    assert resumed, log
    # The chief continues exactly at its last checkpoint.
    assert resumed[1] == resumed[2] == str(steps(before)[-1])
    # No step is repeated, except for the unfinished steps of the lost worker and of the lost ps.
    assert only_forwards(steps(log), 1500)
    assert final_accuracy(log) > GOOD
    # The chief started again, and once more if it started before a worker had found the new ps (gRPC's back-off). The
    # workers did not start again.
    assert len(training.pods("chief")) >= 2
    assert {pod["status"]["containerStatuses"][0]["restartCount"] for pod in training.pods("worker")} <= {0}
    training.wait_until_released()
    assert (training.replicas("ps"), training.replicas("worker")) == (0, 0)
    assert (training.folders["model"] / "checkpoints" / f"ckpt-{steps(log)[-1]}.index").exists()


def only_forwards(saved: list[int], total: int) -> bool:
    """Test whether each checkpoint has a higher step than the previous checkpoint, up to the end.

    A step that a lost worker has completed and not reported is repeated, so the last number may be a few steps higher.
    """
    return saved == sorted(set(saved)) and total <= saved[-1] < total + 50


def test_a_chief_that_fails_for_good_ends_in_a_released_job(job: MakeJob) -> None:
    chief = {"command": ["python", "-c", "raise SystemExit('there is no such data set')"]}
    training = job("dist-mnist", merge(ENVIRONMENT, {**COUNTING, "roles": {"chief": chief}, "retries": 1}))
    training.apply()
    assert training.wait_for_end() == "Failed"
    training.wait_until_released()
    assert (training.replicas("ps"), training.replicas("worker")) == (0, 0)
    # Both pods of the chief stay, and their logs contain the error.
    for pod in training.pods("chief"):
        assert "there is no such data set" in training.kubectl("logs", pod["metadata"]["name"])
    assert len(training.pods("chief")) == 2
