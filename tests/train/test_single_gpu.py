"""A real training of examples/single-gpu, which is stopped in the middle, and continues at the same step."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.tools import ROOT

PROGRAM = ROOT / "examples" / "single-gpu" / "train.py"
STEPS = 1500
"""The number of steps after the stop."""

TIMEOUT = 600
GOOD = 0.9
"""The accuracy that a trained model exceeds (1.0 is usual); chance is 0.5."""


def start(model_dir: Path, steps: int) -> subprocess.Popen[str]:
    """Start the program as its container starts it, without a cluster. Its log is on standard error."""
    command = [sys.executable, PROGRAM, "--model-dir", model_dir, f"--steps={steps}", "--checkpoint-every=100"]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    environment.pop("TF_CONFIG", None)
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def test_a_job_that_is_stopped_loses_no_step(tmp_path: Path) -> None:
    first = start(tmp_path, steps=1_000_000)  # more than the training reaches before the stop
    try:
        assert first.stderr
        said = ""
        while "step 200:" not in said:
            line = first.stderr.readline()
            assert line, said
            said += line
        first.send_signal(signal.SIGTERM)
        said += first.communicate(timeout=TIMEOUT)[1]
    finally:
        first.kill()
    assert first.returncode == 128 + signal.SIGTERM, said
    assert "training on the CPU: there is no GPU" in said
    saved = re.search(r"SIGTERM: saved \S+-(\d+)\n", said)
    assert saved, said

    steps = int(saved[1]) + STEPS
    second = start(tmp_path, steps)
    try:
        said = second.communicate(timeout=TIMEOUT)[1]
    finally:
        second.kill()
    assert second.returncode == 0, said
    assert f"at step {saved[1]}\n" in said
    done = re.search(rf"done: step {steps}, accuracy ([\d.]+)\n", said)
    assert done, said
    assert float(done[1]) > GOOD
    assert list((tmp_path / "logs").glob("events.*"))
