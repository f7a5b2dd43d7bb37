"""Functions that start and check a training in local processes."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import yaml

from tests.support.local_cluster import Cluster, LocalCluster

ROOT = Path(__file__).parents[2]


PROGRAM = ROOT / "examples" / "dist-mnist" / "train.py"


STEPS = 600
"""The number of steps of the example's dev environment."""


GOOD = 0.9
"""Accuracy that a trained model exceeds. 0.98 is usual, and chance is 0.1."""


TIMEOUT = 900
"""Seconds. Each test takes less than 30 on an idle machine. On a busy machine, a start and its training took 85."""


def rendered_cluster() -> Cluster:
    """Return the cluster of the example's dev environment."""
    patch = ROOT / "overlays" / "dist-mnist" / "dev" / "configmap.patch.yaml"
    return json.loads(yaml.safe_load(patch.read_text(encoding="utf-8"))["data"]["cluster"])


def local_cluster(folder: Path, model_dir: Path, cluster: Cluster) -> LocalCluster:
    """Return a cluster of the example before its start, which trains without end. Its logs go to `folder`."""
    command = [sys.executable, str(PROGRAM), "--steps", "1000000", "--checkpoint-every", "100"]
    env = {"MODEL_DIR": str(model_dir), "TF_CPP_MIN_LOG_LEVEL": "2"}
    return LocalCluster(cluster, command, folder, env)


def final_accuracy(log: str) -> float:
    """Return the accuracy in the chief's last line."""
    return float(re.search(r"done: step \d+, accuracy ([\d.]+), model in \S+\n", log)[1])


def scalars(tf: ModuleType, folder: Path, tag: str) -> dict[int, float]:
    """Return the values of a TensorBoard scalar by step."""
    records = tf.data.TFRecordDataset([str(path) for path in folder.glob("events.out.tfevents.*")])
    events = [tf.compat.v1.Event.FromString(record.numpy()) for record in records]
    return {
        event.step: float(tf.make_ndarray(value.tensor))
        for event in events
        for value in event.summary.value
        if value.tag == tag
    }
