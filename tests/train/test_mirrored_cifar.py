"""A real training of examples/mirrored-cifar: three synchronous workers, as local processes."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path
from types import ModuleType

from tests.support.local_cluster import LocalCluster
from tests.support.training import TIMEOUT, final_accuracy, scalars

PROGRAM = Path(__file__).parents[2] / "examples" / "mirrored-cifar" / "train.py"
WORKERS = {"worker": [f"mirrored-cifar-worker-{index}.mirrored-cifar:2222" for index in range(3)]}
STEPS = 200
GOOD = 0.9
"""The accuracy that a trained model exceeds (0.99 is usual); chance is 0.1."""


def local_cluster(folder: Path, steps: int) -> LocalCluster:
    command = [sys.executable, str(PROGRAM), "--steps", str(steps)]
    return LocalCluster(WORKERS, command, folder, {"MODEL_DIR": str(folder / "model"), "TF_CPP_MIN_LOG_LEVEL": "3"})


def test_lost_worker_ends_the_others_and_the_next_start_of_all_resumes(tf: ModuleType, tmp_path: Path) -> None:
    with local_cluster(tmp_path, STEPS) as cluster:
        cluster.wait_for_line(r"INFO step 100:", "worker", timeout=TIMEOUT)
        cluster.kill("worker", 2)
        codes = cluster.wait_for_all(timeout=TIMEOUT)
        assert codes == {"worker-0": 1, "worker-1": 1, "worker-2": -signal.SIGKILL}
        for index in (0, 1):
            assert cluster.log("worker", index).endswith(
                "ERROR lost a worker; once all are started again, they resume from the last checkpoint\n"
            )

        for index in range(3):
            cluster.start("worker", index)
        assert set(cluster.wait_for_all(timeout=TIMEOUT).values()) == {0}
        starts = {re.search(r"resumed from (\S+) at step (\d+)\n", cluster.log("worker", index)) for index in range(3)}
        assert len({start.groups() for start in starts}) == 1
        assert 100 <= int(starts.pop()[2]) < STEPS
        assert final_accuracy(cluster.log("worker")) > GOOD

        # A start after the end: all workers connect, run no step, and exit.
        for index in range(3):
            cluster.start("worker", index)
        assert set(cluster.wait_for_all(timeout=TIMEOUT).values()) == {0}
        assert re.findall(r"INFO (done: )?step (\d+)", cluster.log("worker"))[-2:] == [("done: ", "200")] * 2

    model_dir = tmp_path / "model"
    loss = scalars(tf, model_dir / "logs" / "train", "loss")
    assert set(loss) == {50, 100, 150, 200}
    assert loss[200] < loss[50] / 3
    assert tf.train.latest_checkpoint(str(model_dir / "checkpoints")) == str(model_dir / "checkpoints" / "ckpt-200")
    model = tf.saved_model.load(str(model_dir / "export" / str(STEPS))).signatures["serving_default"]
    assert model(images=tf.zeros([5, 32, 32, 3]))["probabilities"].shape == (5, 10)
