"""Tests that `tfgen import -o DIR/` writes a folder for each job, and that other commands accept the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repository import tfgen

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
    tfgen("import", "old.yaml", "-o", folder)
    written = sorted(path.as_posix() for path in Path(folder).rglob("*") if path.is_file())
    assert written == [f"{folder.strip('/')}/mnist/job.yaml", f"{folder.strip('/')}/pong/job.yaml"]
    tfgen("render", folder)
    tfgen("set", f"{folder}/pong/job.yaml", "retries=7")


def test_nothing_is_written_over_a_job() -> None:
    Path("jobs/pong").mkdir(parents=True)
    Path("jobs/pong/job.yaml").write_text("a: b\n", encoding="utf-8")
    assert "pong/job.yaml" in tfgen("import", "old.yaml", "-o", "jobs/", code=2).err
    assert not Path("jobs/mnist").exists()
    assert Path("jobs/pong/job.yaml").read_text(encoding="utf-8") == "a: b\n"


def test_a_file_has_all_jobs() -> None:
    tfgen("import", "old.yaml", "-o", "job.yaml")
    assert Path("job.yaml").read_text(encoding="utf-8").count("kind: TrainingJob") == 2
