"""The examples with model.fit train by tf_keras."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.support.local_cluster import LocalCluster
from tests.support.tools import ROOT
from tests.support.training import TIMEOUT

MIRRORED = ROOT / "examples" / "keras-mirrored" / "train.py"
PS = ROOT / "examples" / "keras-ps" / "train.py"
RUN_ENDS = "done: accuracy (0.9\\d+|1.0+)"


def environment(folder: Path) -> dict[str, str]:
    return {"MODEL_DIR": str(folder / "model"), "TF_CPP_MIN_LOG_LEVEL": "2", "TF_USE_LEGACY_KERAS": "1"}


def test_workers_in_step_train_by_model_fit(tmp_path: Path) -> None:
    command = [sys.executable, str(MIRRORED), "--epochs=2", "--steps=25"]
    with LocalCluster({"worker": ["a:2222", "b:2222"]}, command, tmp_path, environment(tmp_path)) as cluster:
        assert cluster.wait_for_all(timeout=TIMEOUT) == {"worker-0": 0, "worker-1": 0}
        assert re.search(RUN_ENDS, cluster.log("worker", 0))
    assert (tmp_path / "model" / "export" / "saved_model.pb").exists()


def test_parameter_servers_train_by_model_fit(tmp_path: Path) -> None:
    tasks = {"chief": ["a:2222"], "ps": ["b:2222"], "worker": ["c:2222"]}
    command = [sys.executable, str(PS), "--epochs=3"]
    with LocalCluster(tasks, command, tmp_path, environment(tmp_path)) as cluster:
        assert cluster.wait("chief", timeout=TIMEOUT) == 0
        assert cluster.stop() == {"ps-0": 0, "worker-0": 0}
        assert re.search(RUN_ENDS, cluster.log("chief"))
    assert (tmp_path / "model" / "export" / "saved_model.pb").exists()
