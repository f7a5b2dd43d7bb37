"""Tests that `tfgen import -o DIR/` writes a folder for each job, and that other commands accept the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfgen import cli

TFJOB = """\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {{name: {name}}}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - {{name: tensorflow, image: "registry.ml.internal/ml/{name}:1.4.0"}}
"""


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tfgen.yaml").write_text("apiVersion: tfgen/v1alpha1\nkind: Defaults\nroot: true\n", encoding="utf-8")
    Path("old.yaml").write_text(TFJOB.format(name="mnist") + "---\n" + TFJOB.format(name="pong"), encoding="utf-8")


@pytest.mark.parametrize("folder", ["jobs/", "there"])
def test_each_job_has_a_folder(folder: str) -> None:
    Path("there").mkdir()
    assert cli.run(["import", "old.yaml", "-o", folder]) == 0
    written = sorted(path.as_posix() for path in Path(folder).rglob("*") if path.is_file())
    assert written == [f"{folder.strip('/')}/mnist/job.yaml", f"{folder.strip('/')}/pong/job.yaml"]
    assert cli.run(["render", folder]) == 0
    assert cli.run(["set", f"{folder}/pong/job.yaml", "retries=7"]) == 0


def test_nothing_is_written_over_a_job(capsys: pytest.CaptureFixture[str]) -> None:
    Path("jobs/pong").mkdir(parents=True)
    Path("jobs/pong/job.yaml").write_text("a: b\n", encoding="utf-8")
    assert cli.run(["import", "old.yaml", "-o", "jobs/"]) == 2
    assert "pong/job.yaml" in capsys.readouterr().err
    assert not Path("jobs/mnist").exists()
    assert Path("jobs/pong/job.yaml").read_text(encoding="utf-8") == "a: b\n"


def test_a_file_has_all_jobs() -> None:
    assert cli.run(["import", "old.yaml", "-o", "job.yaml"]) == 0
    assert Path("job.yaml").read_text(encoding="utf-8").count("kind: TrainingJob") == 2
