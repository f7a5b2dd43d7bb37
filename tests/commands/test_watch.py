"""``--watch``: real processes that follow real files."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.support.repository import commit_all, git, repository_fixture, tfgen
from tfgen import cli

JOB: Final = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.internal/ml/mnist:1.0.0
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  gitops: {repository: "https://git.internal/ml/jobs.git", argocd: {}}
  environments: {dev: {namespace: ml}}
"""
TIMED: Final = re.compile(r"^\d\d:\d\d:\d\d ", re.MULTILINE)
"""The line above the result of each run after the first."""

_PATIENCE_S: Final = 20.0
_QUIET_S: Final = 0.7
"""Time without output after which no run is expected. A run takes about a tenth of this time."""


class Process:
    """A running `tfgen COMMAND --watch`."""

    def __init__(self, *words: str) -> None:
        # A shell starts a command in the background with SIGINT ignored, and so do the tests then.
        self._process = subprocess.Popen(
            (sys.executable, "-m", "tfgen", *words, "--watch"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self._chunks: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.pid = self._process.pid

    def _read(self) -> None:
        assert self._process.stdout
        while chunk := os.read(self._process.stdout.fileno(), 1 << 16):
            self._chunks.put(chunk)

    def until(self, pattern: str) -> str:
        """Return the output up to the first match of a pattern, with all output that has arrived by then."""
        text, end = "", time.monotonic() + _PATIENCE_S
        while not re.search(pattern, text):
            assert time.monotonic() < end, f"no {pattern} in {text}"
            try:
                text += self._chunks.get(timeout=0.1).decode()
            except queue.Empty:
                assert self._process.poll() is None, text
        return text

    def more(self) -> str:
        """Return the output until nothing arrives any longer."""
        text = ""
        while True:
            try:
                text += self._chunks.get(timeout=_QUIET_S).decode()
            except queue.Empty:
                return text

    def end(self, number: int = signal.SIGINT) -> int:
        """Send a signal after the end of the current run, and return the exit code."""
        self.more()
        self._process.send_signal(number)
        return self._process.wait(_PATIENCE_S)

    def kill(self) -> None:
        """End the process, if it still runs."""
        self._process.kill()
        self._reader.join()
        self._process.communicate()


@contextmanager
def watching(*words: str) -> Iterator[Process]:
    """Start a command with --watch, and wait for the result of the first run."""
    process = Process(*words)
    try:
        process.until("watching for changes")
        yield process
    finally:
        process.kill()


@repository_fixture(autouse=True)
def repository() -> None:
    """Make a repository with a rendered and committed job. The repository becomes the working directory."""
    Path("jobs/mnist").mkdir(parents=True)
    write(JOB)
    tfgen("render", "jobs")
    commit_all()


def write(text: str, file: str = "jobs/mnist/job.yaml") -> None:
    Path(file).write_text(text, encoding="utf-8")


def with_tag(tag: str) -> str:
    return JOB.replace("1.0.0", tag)


def test_a_change_of_the_job_prints_the_new_difference() -> None:
    with watching("diff", "jobs") as process:
        write(with_tag("1.0.1"))
        text = process.until("1 job of 1 changed")
        assert TIMED.search(text)
        assert "jobs/mnist/job.yaml\n" in text
        assert '"registry.internal/ml/mnist:1.0.1"' in text + process.more()
        write(JOB)
        process.until("0 jobs of 1 changed")


def test_a_burst_is_one_run_and_its_last_state_is_printed() -> None:
    with watching("diff", "jobs") as process:
        os.kill(process.pid, signal.SIGSTOP)  # on a busy machine, the pauses of this writer may be long
        for number in range(200):
            write(with_tag(f"1.0.{number}"))
        write(with_tag("2.0.0"))
        os.kill(process.pid, signal.SIGCONT)
        text = process.until("changed since") + process.more()
        assert "mnist:2.0.0" in text.rpartition("mnist (jobs/mnist/job.yaml)")[2]
        assert len(TIMED.findall(text)) <= 2  # a second one if the process reads the events slowly


def test_the_last_state_is_printed_if_it_arrives_during_a_run() -> None:
    with watching("diff", "jobs") as process:
        for number in range(12):
            write(with_tag(f"1.0.{number}"))
            time.sleep(0.03)
        write(with_tag("2.0.0"))
        process.until('mnist:2.0.0"')


def test_a_broken_file_is_reported_until_it_is_repaired() -> None:
    with watching("check", "jobs") as process:
        write("apiVersion: tfgen/v1alpha1\nkind: [\n")
        process.until("1 error")
        assert process.end() == cli.PROBLEMS
    with watching("check", "jobs") as process:
        write(JOB)
        process.until("0 errors")
        assert process.end() == cli.OK


def test_a_deleted_file_and_its_folder_may_return() -> None:
    with watching("check", "jobs") as process:
        Path("jobs/mnist/job.yaml").unlink()
        process.until("1 error")
        write(JOB)
        process.until("0 errors")
        Path("jobs").rename("gone")
        process.until(r"\d errors?,|error: jobs")
        Path("gone").rename("jobs")
        process.until("0 errors")
        write(with_tag("1.0.1"))
        process.until("not-rendered")


def test_a_renamed_folder_is_followed() -> None:
    with watching("diff", "jobs") as process:
        Path("jobs/mnist").rename("jobs/other")
        process.until("changed since")
        process.more()
        write(with_tag("1.0.1"), "jobs/other/job.yaml")
        process.until('mnist:1.0.1"')


def test_a_job_file_that_an_editor_replaces_is_followed() -> None:
    with watching("diff", "jobs/mnist/job.yaml") as process:
        for number in (1, 2):
            write(with_tag(f"1.0.{number}"), "jobs/mnist/.job.yaml.swp")
            Path("jobs/mnist/.job.yaml.swp").rename("jobs/mnist/job.yaml")
            process.until(f'mnist:1.0.{number}"')
            process.more()


def test_another_branch_and_a_commit_are_followed() -> None:
    git("checkout", "--quiet", "-b", "other")
    git("rm", "--quiet", "-r", "jobs")
    Path("README.md").write_text("other")
    commit_all()
    git("checkout", "--quiet", "main")
    with watching("diff", "jobs") as process:
        git("checkout", "--quiet", "other")
        process.until("error: jobs")
        process.more()
        git("checkout", "--quiet", "main")
        process.until("0 jobs of 1 changed")
        process.more()
        write(with_tag("1.0.1"))
        process.until("1 job of 1 changed")
        process.more()
        git("commit", "--quiet", "--all", "--message=b")
        process.until("0 jobs of 1 changed")


def test_a_commit_in_a_worktree_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("worktree", "add", "--quiet", str(tmp_path / "tree"))
    monkeypatch.chdir(tmp_path / "tree")
    with watching("diff", "jobs") as process:
        write(with_tag("1.0.1"))
        process.until("1 job of 1 changed")
        git("commit", "--quiet", "--all", "--message=b")
        process.until("0 jobs of 1 changed")


def test_a_tfgen_yaml_and_a_manifest_of_the_repository_are_followed() -> None:
    with watching("check", "jobs") as process:
        write("spec: {imagePullPolicy: Sometimes}\n", "tfgen.yaml")
        process.until("[1-9] errors?,")
        Path("tfgen.yaml").unlink()
        process.until("0 errors")
        Path("quota.yaml").write_text("kind: ResourceQuota\n")
        process.until("quota.yaml\n")
        process.more()
        Path("train.py").write_text("print()\n")
        Path("runs").mkdir()
        assert process.more() == ""


def test_a_render_does_not_follow_its_own_writes() -> None:
    with watching("render", "jobs") as process:
        write(with_tag("1.0.1"))
        text = process.until(" unchanged\n") + process.more()
        assert len(TIMED.findall(text)) == 1
        assert "changed  charts/mnist/values.yaml" in text
        Path("charts/mnist/values.yaml").write_text("edited: true\n")
        process.until("charts/mnist/values.yaml\n")
        assert process.end() == cli.PROBLEMS


def test_a_render_of_the_whole_repository_ends() -> None:
    with watching("render", ".") as process:
        write(with_tag("1.0.1"))
        text = process.until(" unchanged\n") + process.more()
        assert len(TIMED.findall(text)) == 1


@pytest.mark.long
def test_many_jobs_are_rendered_in_processes_again_and_again() -> None:
    for number in range(24):
        write(JOB.replace("name: mnist", f"name: job-{number}"), f"jobs/job-{number}.yaml")
    with watching("render", "jobs") as process:
        for tag in ("1.0.1", "1.0.2"):
            for number in range(24):
                write(with_tag(tag).replace("name: mnist", f"name: job-{number}"), f"jobs/job-{number}.yaml")
            text = ""
            while not Path("charts/job-23/values.yaml").read_text().count(f"mnist:{tag}"):
                text += process.until("25 jobs, ")
            assert "error" not in text + process.more()
        assert process.end() == cli.OK


def test_signals_end_the_watch_with_the_last_code_or_their_own() -> None:
    with watching("diff", "jobs", "--exit-code") as process:
        write(with_tag("1.0.1"))
        process.until("1 job of 1 changed")
        assert process.end(signal.SIGINT) == cli.PROBLEMS
    with watching("check", "jobs") as process:
        assert process.end(signal.SIGTERM) == cli.TERMINATED


@pytest.mark.parametrize(
    ("words", "removed"),
    [
        (("check", "jobs", "--format", "json"), "--format json"),
        (("check", "jobs", "--format", "sarif"), "--format sarif"),
        (("check", "jobs", "--format", "github"), "--format github"),
        (("check", "jobs", "--read", "index"), "--read"),
        (("check", "-"), "-"),
        (("diff", "jobs", "--format", "markdown"), "--format markdown"),
        (("diff", "jobs", "--live"), "--live"),
        (("render", "jobs", "--stdout"), "--stdout"),
    ],
)
def test_what_a_person_cannot_follow_is_refused(words: tuple[str, ...], removed: str) -> None:
    assert tfgen(*words, "--watch", code=cli.USAGE).err.endswith(f"; remove {removed}\n")


def test_a_wrong_path_ends_at_once() -> None:
    assert "misspelt" in tfgen("diff", "misspelt", "--watch", code=cli.USAGE).err


@pytest.mark.long
@pytest.mark.parametrize("command", ["check", "render", "diff"])
def test_memory_does_not_grow(command: str) -> None:
    """Each run reads a job with new names and values, so no cache has an entry for the run."""
    with watching(command, "jobs") as process:
        sizes = []
        for number in range(400):
            text = with_tag(f"1.{number}").replace("dev: {", f"e{number}: {{retries: {number}, ")
            write(f"{text}  env: {{NAME_{number}: text}}\n")
            process.until(r"errors?, \d+ warn| unchanged\n|changed since")
            sizes.append(int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4096)
        assert max(sizes[-50:]) - max(sizes[150:200]) < 3_000_000, sizes[::50]
