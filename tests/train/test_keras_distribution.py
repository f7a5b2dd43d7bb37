"""The example with Keras 3 on JAX trains by `tfgen local`: two processes, connected by the rendered variables."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.local_job import run
from tests.support.tools import ROOT
from tests.support.training import TIMEOUT

EXAMPLE = ROOT / "examples" / "keras-distribution"
LOSS = re.compile(r"64/64 - .* - loss: ([\d.e-]+)")


def test_two_workers_train_by_model_fit_on_jax(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_bytes((EXAMPLE / "job.yaml").read_bytes())
    model = tmp_path / "model"
    model.mkdir()
    options = ["--workdir", str(EXAMPLE), "--mount", f"model={model}", "--set", "args=[--epochs=2]"]
    ran = run(job, *options, env={"TF_CPP_MIN_LOG_LEVEL": "3"}, timeout=TIMEOUT)
    assert ran.code == 0, ran
    losses = {}
    for index in (0, 1):
        lines = ran.lines[f"worker-{index}"]
        assert f"worker {index} of 2, 2 devices" in lines
        assert any(re.match(r"done: epoch 2, accuracy (0\.9\d+|1\.0+),", line) for line in lines), lines
        losses[index] = [match[1] for line in lines if (match := LOSS.match(line))]
    # The workers have different samples, so equal losses prove that they train one model.
    assert len(losses[0]) == 2
    assert losses[0] == losses[1]
    assert [path.name for path in sorted(model.rglob("*.keras"))] == ["backup.keras", "model.keras"]
