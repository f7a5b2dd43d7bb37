"""Tests of commands for a cluster, when the cluster or the Kubernetes client is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import tfgen
from tfgen import cli
from tfgen.cli.parser import read_arguments
from tfgen.commands.exec import command_words

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


@pytest.mark.parametrize(("command", "options"), [("status", []), ("exec", ["--", "true"])])
def test_a_missing_client_is_told_with_its_cure(
    command: str, options: list[str], job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("tfgen.live.") or name == "tfgen.live.clusters"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    error = tfgen(command, str(job), *options, code=cli.FAILED).err
    assert error == "tfgen: error: the Kubernetes client is not installed: pip install kubernetes urllib3\n"


def test_rendering_loads_nothing_of_the_client(job: Path) -> None:
    code = (
        "import sys; from tfgen import cli; "
        f"code = cli.run(['render', '--stdout', {str(job)!r}]); "
        "live = [name for name in sys.modules if name.startswith(('kubernetes.', 'tfgen.live'))]; "
        "print(code, *live, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "0\n"


def test_no_kubeconfig_is_told(job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert f"the kubeconfig {tmp_path / 'none'} does not exist" in tfgen("status", str(job), code=cli.USAGE).err


@pytest.mark.parametrize("content", ["", "[1", "users: 7", "clusters: []", "contexts: [{name: a}]\ncurrent-context: a"])
def test_a_kubeconfig_that_is_none_is_told(job: Path, tmp_path: Path, content: str) -> None:
    config = tmp_path / "config"
    config.write_text(content, encoding="utf-8")
    error = tfgen("status", str(job), "--kubeconfig", str(config), code=cli.FAILED).err
    assert error.startswith(f"tfgen: error: {config}: ")
    assert "internal" not in error


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("exec job.yaml -- ls -l", ["ls", "-l"]),
        ("exec job.yaml --role worker -- ls --role", ["ls", "--role"]),
        ("exec --role worker job.yaml -- sh -c x sh -- y", ["sh", "-c", "x", "sh", "--", "y"]),
        ("exec job.yaml -it bash", ["bash"]),
    ],
)
def test_the_words_of_a_command_are_its_own(line: str, words: list[str]) -> None:
    assert command_words(read_arguments(line.split())) == words


@pytest.mark.parametrize(
    ("port", "message"),
    [
        ("65536", "65536 is not a port; write an integer from 0 to 65535"),
        ("-1", "'-1' is not a valid number; write an integer of at least 0"),
        ("http", "'http' is not a valid number; write an integer of at least 0"),
    ],
)
def test_a_port_that_is_none_is_refused(job: Path, port: str, message: str) -> None:
    assert f"argument --port: {message}\n" in tfgen("tensorboard", str(job), f"--port={port}", code=cli.USAGE).err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--all", "--index", "1"], "--all traces each task of the role; remove --index or --all"),
        (["--seconds", "0"], "--seconds 0: write a time from 1 to 60 seconds"),
        (["--seconds", "2m"], "--seconds 120: write a time from 1 to 60 seconds"),
        (["--role", "ps"], "--role ps: the run does not have this role; the roles are worker"),
    ],
)
def test_a_profile_of_no_task_is_refused(job: Path, options: list[str], message: str) -> None:
    assert message in tfgen("profile", str(job), *options, code=cli.USAGE).err


@pytest.mark.parametrize(
    ("strategy", "roles", "message"),
    [
        ("KerasDistribution", "worker: {replicas: 2}", "because the tasks run JAX; call jax.profiler.start_trace"),
        ("Single", "chief: {}", "because the task has no TensorFlow server; call tf.profiler.experimental.start"),
    ],
)
def test_a_profile_without_a_server_is_refused_at_the_strategy(
    strategy: str, roles: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "job.yaml"
    head = "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\nspec:\n  image: mnist:1\n"
    path.write_text(f"{head}  strategy: {strategy}\n  roles: {{{roles}}}\n", encoding="utf-8")
    printed = tfgen("profile", str(path), code=cli.PROBLEMS).err
    assert "job.yaml:6:13: tfgen profile cannot trace the task" in printed
    assert f", {message} in the program [untraceable-strategy]\n" in printed
    assert "note:" not in printed, "the fault of TensorFlow's profiler concerns only strategies with servers"
