"""The lock that lets one run at a time write to a volume. The tests use real processes and a real file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tfgen.graph import programs

PATIENCE_S = 120.0

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Yield a function that starts the program as its container does, and kill the processes at the end of the test."""
    started: list[subprocess.Popen[str]] = []

    def one(run: str, index: int = 0) -> subprocess.Popen[str]:
        program = Path(programs.__file__).with_name("run_lock.py")
        command = [sys.executable, "-I", str(program), str(tmp_path), str(tmp_path / f"held-{run}")]
        environment = {**os.environ, "TFGEN_RUN": run, "TASK_INDEX": str(index)}
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield one
    for process in started:
        process.kill()
        process.communicate()


def wait_for(path: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < end, f"{path.name} did not come"
        time.sleep(0.05)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().partition(" ")[2].strip()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_next_run_waits_for_the_end_of_the_last_run(start: Start, tmp_path: Path, end: signal.Signals) -> None:
    first = start("1")
    wait_for(tmp_path / "held-1")
    second = start("2")
    assert line(second) == "waiting for run 1, which writes to this volume"
    assert not (tmp_path / "held-2").exists()
    first.send_signal(end)
    assert first.wait(PATIENCE_S) == (0 if end == signal.SIGTERM else -signal.SIGKILL)
    wait_for(tmp_path / "held-2")
    assert line(second) == "locked"
    assert (tmp_path / ".tfgen-run-lock").read_text(encoding="utf-8") == "run 2"


def test_task_that_saves_nothing_does_not_wait(start: Start, tmp_path: Path) -> None:
    start("1")
    wait_for(tmp_path / "held-1")
    start("other", index=1)
    wait_for(tmp_path / "held-other")


def test_volume_without_locks_is_reported(tmp_path: Path) -> None:
    program = programs.file("run_lock").text.replace(
        "import fcntl", "import fcntl\n\ndef no(*_):\n    raise OSError(95, 'Not supported')\nfcntl.flock = no\n", 1
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), str(tmp_path / "held")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 1
    assert "the volume supports no locks" in done.stderr
    assert not (tmp_path / "held").exists()
