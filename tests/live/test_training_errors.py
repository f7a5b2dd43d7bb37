"""Tests of the usual errors of training programs, with lines that TensorFlow 2.21, Keras 3.15 and Python print."""

from __future__ import annotations

import re

import pytest

from tests.support.tools import ROOT
from tfgen.live.training_errors import ERRORS, find_error

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
