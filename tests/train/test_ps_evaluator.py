"""examples/ps-evaluator trains for real: an evaluator, which the other tasks know nothing of, beside the training."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.local_cluster import LocalCluster
from tests.support.training import GOOD, PROGRAM, TIMEOUT, final_accuracy, scalars

TASKS = {role: [f"ps-evaluator-{role}-0.ps-evaluator:2222"] for role in ("chief", "ps", "worker", "evaluator")}
EVALUATED = r"INFO step (\d+): accuracy ([\d.]+)\n"


def test_evaluator_follows_the_checkpoints_until_sigterm(tf: ModuleType, tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), "--steps=500", "--checkpoint-every=100"]
    env = {"MODEL_DIR": str(tmp_path / "model"), "TF_CPP_MIN_LOG_LEVEL": "2"}
    with LocalCluster(TASKS, command, tmp_path, env) as cluster:
        assert cluster.wait("chief", timeout=TIMEOUT) == 0
        cluster.wait_for_line(r"step 500: accuracy", "evaluator", timeout=TIMEOUT)
        assert cluster.stop() == {"ps-0": 0, "worker-0": 0, "evaluator-0": 0}
        written = {int(step): float(share) for step, share in re.findall(EVALUATED, cluster.log("evaluator"))}
        final = final_accuracy(cluster.log("chief"))

    # It may be slower than the training, and then skips checkpoints, but never the last one.
    assert written[500] == pytest.approx(final, abs=0.001)
    assert final > GOOD
    accuracy = scalars(tf, tmp_path / "model" / "logs" / "eval", "accuracy")
    assert {step: round(share, 4) for step, share in accuracy.items()} == written
    assert scalars(tf, tmp_path / "model" / "logs" / "train", "loss").keys() >= written.keys()
