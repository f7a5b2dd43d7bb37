"""The log of a training: the curve of the loss, and the errors."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from tests.support.tools import ROOT
from tfgen.live.training_log import ERRORS, find_error, loss_line, losses, sparkline

# -- loss --------------------------------------------------------------------------------------------------------------

RECORDED = Path(__file__).parent / "loss"
"""The output of model.fit of Keras 3.15.1 with three epochs, verbose=1 and verbose=2."""


def recorded(name: str) -> list[str]:
    """Return the lines of a log. A carriage return of a progress bar does not end a line."""
    return (RECORDED / f"{name}.txt").read_bytes().decode("utf-8").split("\n")


@pytest.mark.parametrize("name", ["keras-progress-bar", "keras-line-for-each-epoch"])
def test_the_loss_of_each_epoch_of_keras(name: str) -> None:
    values = losses(recorded(name))
    assert values == [0.6940, 0.6923, 0.6908]
    assert loss_line("chief-0", values) == "loss of chief-0: █▄▁ 0.694 -> 0.6908"


def test_a_single_epoch_with_a_progress_bar_has_a_curve() -> None:
    assert losses(recorded("keras-progress-bar")[:2]) == [0.6939, 0.6940]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("100/100 - 1s - loss: 2.1034 - accuracy: 0.4512 - val_loss: 1.9 - val_accuracy: 0.5", [2.1034]),  # Keras 2
        ("INFO step 100: loss 2.3026, 812 steps/s, saved /model/ckpt-100", [2.3026]),
        ("INFO:tensorflow:loss = 0.25, step = 100 (0.5 sec)", [0.25]),  # an Estimator
        ("step=5 loss=1.2e-05", [1.2e-05]),
        ("Epoch 1 Training Loss: 0.5, Validation loss: 0.7", [0.5]),
        ("train_loss=0.5 val-loss=0.7 eval_loss=0.8 test loss 0.9", [0.5]),
        ("head_a_loss: 1.0 - head_b_loss: 2.0 - loss: 3.0000", [3.0]),
        ("loss: -1", [-1.0]),
        ("the loss of 3 workers; lossless: 1; loss at step 5", []),
        ("packet loss is 0", []),
    ],
)
def test_a_line(line: str, values: list[float]) -> None:
    assert losses([line, "no number"]) == values


def test_a_loss_that_is_no_number() -> None:
    values = losses(["loss: 4.0", "loss: 1.0", "loss: nan", "loss=inf"])
    assert values[:2] == [4.0, 1.0]
    assert math.isnan(values[2])
    assert loss_line("worker-0", values) == "loss of worker-0: █▁!! 4 -> inf"


def test_many_losses_are_averaged() -> None:
    """The curve of a thousand losses from 999 to 0 has 40 characters, which fall through all 8 heights."""
    curve = sparkline([float(999 - number) for number in range(1000)])
    assert len(curve) == 40
    assert curve == "".join(sorted(curve, reverse=True))
    assert set(curve) == set("▁▂▃▄▅▆▇█")


def test_equal_losses_are_a_flat_line() -> None:
    assert sparkline([3.0, 3.0, 3.0]) == "▁▁▁"


def test_a_log_without_a_curve_has_no_line() -> None:
    assert loss_line("chief-0", losses(["ready", "loss: 1.0"])) == ""
    assert loss_line("chief-0", losses([])) == ""


# -- errors ------------------------------------------------------------------------------------------------------------

LINES = {
    "ValueError: Attempt to convert a value (PerReplica:{": "keras-3-mirrored",
    "ValueError: To use this dataset, you need to pass this dataset to ClusterCoordinator.create_per_worker_dataset.": (
        "keras-3-parameter-server"
    ),
    "ImportError: ... but you do not have the tf_keras package installed. You must install it": "no-tf-keras",
    "ModuleNotFoundError: No module named 'tensorboard'": "no-tensorboard",
    "E0000 grpc_server_lib.cc:618] UNKNOWN: Could not start gRPC server": "port-in-use",
    "ValueError: Cluster spec must be non-empty in `tf.distribute.cluster_resolver.ClusterResolver`.": "no-tf-config",
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor": "out-of-memory",
    "20/20 - 0s - loss: nan - accuracy: 0.1000 - 169ms/epoch": "nan-loss",
    "2026-11-26 18:04:59,391 INFO step 224: loss nan, 19 steps/s, saved /model/checkpoints/ckpt-224": "nan-loss",
    "KeyError: 'TF_CONFIG'": "no-tf-config",
    "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 128. TiB for an array": "out-of-memory",
    "Batch 3: Invalid loss, terminating training": "nan-loss",
    "F1126 client.h:80] Terminating process because the JAX distributed service detected fatal errors. This most": (
        "jax-peer-lost"
    ),
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:2222": "no-connection",
}
HARMLESS = (
    "step 600: loss 0.02, 40 steps/s",
    "loss is nanometres",
    "loss: 0.5023 - accuracy: 0.7656",
    "nanoseconds: 12",
    "no loss, nano run",
)


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_a_program_is_known(line: str) -> None:
    error = find_error(["INFO start", line])
    assert error is not None
    assert error.name == LINES[line]


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_of_a_training_that_goes_well_is_no_error(line: str) -> None:
    assert find_error(line) is None


def test_a_task_that_goes_on_can_have_only_a_loss_that_is_no_number() -> None:
    known = {name: find_error(line, has_failed=False) for line, name in LINES.items()}
    assert {name for name, error in known.items() if error} == {"nan-loss"}


def test_the_page_has_a_row_for_each_error() -> None:
    rows = re.findall(r"^\| `.*$", (ROOT / "docs" / "keras.md").read_text(encoding="utf-8"), re.MULTILINE)
    named = {error.name for row in rows if (error := find_error(row.split("|")[1]))}
    assert named == {error.name for error in ERRORS}


def test_the_cause_comes_before_what_follows_from_the_cause() -> None:
    error = find_error("Connection refused\nValueError: Attempt to convert a value (PerReplica:{")
    assert error is not None
    assert error.name == "keras-3-mirrored"
