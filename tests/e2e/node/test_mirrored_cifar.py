"""examples/mirrored-cifar trains in the pods that tfgen renders: synchronous workers, which SIGTERM and SIGKILL end."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import pytest

from tests.e2e.client import Object, eventually
from tests.e2e.node.node_job import CONTAINER, PATIENCE, NodeJob, index

MakeJob = Callable[..., NodeJob]

WORKERS: Final = 2
STEPS, INTERVAL = 1000, 25
"""The test kills workers during the training, so the training must be longer than a pause of a busy machine."""

TERMINATIONS: Final = 3
CODE: Final = 42
"""The exit code of TensorFlow's PreemptionCheckpointHandler: failure_handling.py, BorgTerminationConfig."""

GOOD = 0.75
"""The accuracy that a model exceeds after these steps; chance is 0.1."""

RESUMED = re.compile(
    rf"INFO saved step (\d+) for a worker with SIGTERM: exit {CODE}\n"
    r"(?:(?!.*saved step).*\n)*?.*INFO resumed from \S+/ckpt-\1 at step \1\n(?:(?!.*saved step).*\n)*?.*INFO step \d+:"
)
"""A worker that saves a step before its end, and trains from this step on after its next start."""

ENDS_TWICE = f"""
starts=/model/$TASK_INDEX
echo start >> $starts
case $(wc -l < $starts) in 1) exit {CODE};; 2) exit 1;; esac
"""
"""A program that ends with CODE at its first start and with 1 at its second start, and then succeeds."""


def resumed_step(training: NodeJob, after: int) -> int:
    """Return the step at which worker 0 continues after SIGTERM to a worker, once the worker trains again."""

    def look() -> int:
        steps = [int(match[1]) for match in RESUMED.finditer(training.log("worker"))]
        return steps[-1] if steps and steps[-1] > after else 0

    return eventually(look, f"a worker that goes on after step {after}", PATIENCE)


@pytest.mark.nightly
def test_a_preempted_worker_costs_no_step_and_no_retry_and_a_lost_worker_is_waited_for(job: MakeJob) -> None:
    training = job(
        "mirrored-cifar",
        {"args": [f"--steps={STEPS}", f"--checkpoint-every={INTERVAL}"], "roles": {"worker": {"replicas": WORKERS}}},
        spec={"restart": {"inPlace": True}},
    )
    training.apply()
    training.wait_for_line(rf"INFO step {INTERVAL}:", "worker")
    step = 0
    for number in range(TERMINATIONS):
        training.kill("worker", number % WORKERS, "SIGTERM")
        step = resumed_step(training, step)
    # Each worker restarted in its pod, also a worker without a signal, and the Job counts no failure.
    assert [restarts(pod) for pod in training.pods("worker")] == [TERMINATIONS] * WORKERS
    assert failures(training) == 0

    training.kill("worker", 1)
    assert training.wait_for_end("worker") == "Complete"
    assert failures(training) >= WORKERS
    log = training.log("worker")
    lost, _, resumed = log.rpartition("INFO resumed from ")
    # All workers started again from their last checkpoint.
    saved = re.findall(r"INFO step (\d+):", lost)[-1]
    assert re.match(rf"\S+/ckpt-{saved} at step {saved}$", resumed, re.MULTILINE), log
    steps = [int(step) for step in re.findall(r"INFO (?:saved )?step (\d+)\b", log)]
    assert steps == sorted(steps)
    accuracy = re.search(rf"done: step {STEPS}, accuracy ([\d.]+)", resumed)
    assert accuracy, log
    assert float(accuracy[1]) > GOOD
    assert (training.folders["model"] / "1" / "checkpoints" / f"ckpt-{STEPS}.index").exists()


@pytest.mark.parametrize("in_place", [False, True])
def test_an_exit_code_that_job_yaml_names_costs_no_retry(job: MakeJob, in_place: bool) -> None:
    """Another exit code is a failure, and the worker starts again in a new pod."""
    program = {"command": ["sh", "-c", ENDS_TWICE], "args": [], "retries": WORKERS}
    environment = {**program, "roles": {"worker": {"replicas": WORKERS}}}
    training = job("mirrored-cifar", environment, spec={"restart": {"inPlace": in_place}})
    training.apply()
    assert training.wait_for_end("worker") == "Complete"
    assert 1 <= failures(training) <= WORKERS
    first = [pod for pod in training.pods("worker") if index(pod) == "0"]
    assert [restarts(pod) for pod in first] == ([1, 0] if in_place else [0, 0, 0])
    training.wait_until_free()


def failures(training: NodeJob) -> int:
    return int(training.object("Job", "worker")["status"].get("failed", 0))


def restarts(pod: Object) -> int:
    """Return how often the kubelet has started the program of a pod again."""
    (status,) = (status for status in pod["status"]["containerStatuses"] if status["name"] == CONTAINER)
    return int(status["restartCount"])
