"""Tests of Ctrl-C and SIGTERM during real commands: no traceback, no incomplete result, no remaining process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.repository import GANG_JOB, commit_all, git, hook, repository_fixture, write
from tests.support.signals import heed_terminal

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc for child processes")

SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143}
JOBS = 30
"""Number of jobs, large enough that each command runs for a long time after its start."""

PATIENCE_S = 120.0


@repository_fixture(autouse=True)
def repository() -> None:
    """Return the current folder, a repository with one commit and many jobs that are not rendered."""
    for number in range(JOBS):
        write(f"jobs/j{number}.yaml", GANG_JOB.replace("mnist}", f"j{number}}}"))
    commit_all()


def children(pid: int) -> set[int]:
    """Return the direct child processes of a process."""
    processes = set()
    for folder in Path("/proc").iterdir():
        try:
            parent = int((folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if parent == pid:
            processes.add(int(folder.name))
    return processes


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def interrupted(number: signal.Signals, when: Callable[[int], bool], *command: str) -> str:
    """Start tfgen, send the signal when `when` returns True, and return the text of standard error."""
    process = subprocess.Popen(
        (sys.executable, "-m", "tfgen", *command),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_terminal,
    )
    deadline = time.monotonic() + PATIENCE_S
    while not when(process.pid):
        assert process.poll() is None, "it ended before it was to be interrupted"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    descendants = children(process.pid)
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == SIGNALS[number], errors
    assert "Traceback" not in errors
    while any(map(is_running, descendants)):
        assert time.monotonic() < deadline, "a process of its own goes on"
        time.sleep(0.01)
    return errors


def tfgen(*command: str) -> str:
    return Command((sys.executable, "-m", "tfgen", *command)).run()


def temporary_files() -> list[Path]:
    return list(Path().rglob(".tfgen-*.tmp"))


@pytest.mark.long
@pytest.mark.parametrize(("number", "begun"), [(signal.SIGINT, "charts"), (signal.SIGTERM, ".tfgen")])
def test_render(number: signal.Signals, begun: str) -> None:
    interrupted(number, lambda _: Path(begun).is_dir(), "render", "jobs")
    assert temporary_files() == []
    tfgen("render", "jobs")
    tfgen("check", "jobs")
    assert len(list(Path("charts").iterdir())) == JOBS


@pytest.mark.parametrize("number", SIGNALS)
def test_check_ends_its_workers(number: signal.Signals) -> None:
    # The jobs are not rendered, because tfgen reads rendered jobs from its cache. On one processor tfgen starts no
    # workers, and the child process git shows that the check has begun.
    enough = 1 if len(os.sched_getaffinity(0)) < 2 else 2
    interrupted(number, lambda pid: len(children(pid)) >= enough, "check", "jobs")
    assert git("status", "--porcelain") == ""


@pytest.mark.parametrize("number", SIGNALS)
def test_commit(number: signal.Signals, tmp_path: Path) -> None:
    """The signal arrives while git waits for a hook."""
    hook("pre-commit", f"touch {tmp_path}/.git/begun; until [ -e {tmp_path}/.git/over ]; do sleep 0.1; done")
    before = git("rev-parse", "HEAD")
    interrupted(number, lambda _: Path(".git/begun").exists(), "commit", "jobs/j0.yaml")
    Path(".git/over").touch()  # ends the hook, for which git does not wait
    assert git("rev-parse", "HEAD") == before
    assert not Path(".git/index.lock").exists()
    assert git("diff", "--cached", "--name-only") == ""
    Path(".git/hooks/pre-commit").unlink()
    assert "j0: rendered again" in tfgen("commit", "jobs/j0.yaml")
