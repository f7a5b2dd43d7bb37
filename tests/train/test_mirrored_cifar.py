"""A real training of examples/mirrored-cifar: synchronous workers as local processes, which SIGTERM and SIGKILL end."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path
from types import ModuleType

from tests.support.local_cluster import LocalCluster
from tests.support.training import TIMEOUT, final_accuracy, scalars

PROGRAM = Path(__file__).parents[2] / "examples" / "mirrored-cifar" / "train.py"
WORKERS = {"worker": [f"mirrored-cifar-worker-{index}.mirrored-cifar:2222" for index in range(2)]}
STEPS = 300
"""The number of steps. The test ends workers during the training, so the training must be longer than a pause."""
CODE = 42
"""The exit code of TensorFlow's PreemptionCheckpointHandler: failure_handling.py, BorgTerminationConfig."""
GOOD = 0.9
"""The accuracy that a trained model exceeds (0.99 is usual); chance is 0.1."""


def start(cluster: LocalCluster) -> None:
    for index in range(len(WORKERS["worker"])):
        cluster.start("worker", index)


def test_a_worker_with_sigterm_costs_no_step_and_a_lost_worker_the_steps_since_the_last_checkpoint(
    tf: ModuleType, tmp_path: Path
) -> None:
    command = [sys.executable, str(PROGRAM), "--steps", str(STEPS)]
    env = {"MODEL_DIR": str(tmp_path / "model"), "TF_CPP_MIN_LOG_LEVEL": "3"}
    with LocalCluster(WORKERS, command, tmp_path, env) as cluster:
        cluster.wait_for_line(r"INFO step 50:", "worker", timeout=TIMEOUT)
        cluster.terminate("worker", 1)
        assert cluster.wait_for_all(timeout=TIMEOUT) == {"worker-0": CODE, "worker-1": CODE}
        left = {
            re.search(r"INFO saved step (\d+) for a worker with SIGTERM", cluster.log("worker", i))[1] for i in (0, 1)
        }
        (saved,) = left

        start(cluster)
        trains = rf"INFO resumed from \S+/ckpt-{saved} at step {saved}\n(?:.*\n)*?.*INFO step \d+:"
        for index in (0, 1):
            cluster.wait_for_line(trains, "worker", index, timeout=TIMEOUT)
        cluster.kill("worker", 1)
        assert cluster.wait_for_all(timeout=TIMEOUT) == {"worker-0": 1, "worker-1": -signal.SIGKILL}
        lost = cluster.log("worker")
        assert lost.endswith("ERROR lost a worker; once all are started again, they resume from the last checkpoint\n")

        start(cluster)
        assert set(cluster.wait_for_all(timeout=TIMEOUT).values()) == {0}
        last = re.findall(r"INFO step (\d+):", lost)[-1]
        for index in (0, 1):
            _, _, resumed = cluster.log("worker", index).rpartition("INFO resumed from ")
            assert re.match(rf"\S+/ckpt-{last} at step {last}\n", resumed)
        assert final_accuracy(cluster.log("worker")) > GOOD

        start(cluster)  # after the end: all workers connect, run no step, and exit
        assert set(cluster.wait_for_all(timeout=TIMEOUT).values()) == {0}
        assert re.findall(r"INFO (done: )?step (\d+)", cluster.log("worker"))[-2:] == [("done: ", str(STEPS))] * 2

    model_dir = tmp_path / "model"
    loss = scalars(tf, model_dir / "logs" / "train", "loss")
    assert loss[STEPS] < loss[50] / 3
    latest = tf.train.latest_checkpoint(str(model_dir / "checkpoints"))
    assert latest == str(model_dir / "checkpoints" / f"ckpt-{STEPS}")
    model = tf.saved_model.load(str(model_dir / "export" / str(STEPS))).signatures["serving_default"]
    assert model(images=tf.zeros([5, 32, 32, 3]))["probabilities"].shape == (5, 10)
