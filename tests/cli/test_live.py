"""Commands that look at a cluster, where there is none, or no client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tfgen import cli

JOB = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec: {image: "mnist:1", roles: {worker: {}}, strategy: MultiWorkerMirrored}
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(JOB, encoding="utf-8")
    return path


def test_a_missing_client_is_told_with_its_cure(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("tfgen.live.") or name == "tfgen.commands.live_runs"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    assert cli.run(["status", str(job)]) == cli.FAILED
    error = capsys.readouterr().err
    assert error == 'tfgen: error: a cluster is read by the kubernetes client: pip install "tfgen[live]"\n'


def test_rendering_loads_nothing_of_the_client(job: Path) -> None:
    code = (
        "import sys; from tfgen import cli; "
        f"code = cli.run(['render', '--stdout', {str(job)!r}]); "
        "live = [name for name in sys.modules if name.startswith(('kubernetes.', 'tfgen.live'))]; "
        "print(code, *live, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "0\n"


def test_no_kubeconfig_is_told(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("kubernetes", reason="needs tfgen[live]")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert cli.run(["status", str(job)]) == cli.USAGE
    assert f"no cluster: there is no {tmp_path / 'none'}" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "[1", "users: 7", "clusters: []", "contexts: [{name: a}]\ncurrent-context: a"])
def test_a_kubeconfig_that_is_none_is_told(
    job: Path, tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("kubernetes", reason="needs tfgen[live]")
    config = tmp_path / "config"
    config.write_text(content, encoding="utf-8")
    assert cli.run(["status", str(job), "--kubeconfig", str(config)]) == cli.FAILED
    error = capsys.readouterr().err
    assert error.startswith(f"tfgen: error: {config}: ")
    assert "internal" not in error
