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
import yaml

from tfgen.graph import programs
from tfgen.graph.built import plain_objects

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
def test_the_next_run_waits_for_the_last_ones_end(start: Start, tmp_path: Path, end: signal.Signals) -> None:
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


def test_a_task_that_saves_nothing_waits_for_nobody(start: Start, tmp_path: Path) -> None:
    start("1")
    wait_for(tmp_path / "held-1")
    start("other", index=1)
    wait_for(tmp_path / "held-other")


def test_a_volume_without_locks_ends_with_the_way_out(tmp_path: Path) -> None:
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


# -- the program in a ConfigMap ------------------------------------------------------------------------------------

LOCK = "mnist-run-lock-0bc3efb4"


@pytest.mark.parametrize("kind", ["StatefulSet", "Job", "Pod", "TFJob", "VolcanoJob", "JobSet"])
@pytest.mark.parametrize(
    ("storage", "has_lock"),
    [
        ("", False),
        ("{model: {mountPath: /model, claim: {size: 1Gi}}}", False),
        ("{model: {mountPath: /model, runs: Shared, claim: {size: 1Gi}}}", True),
        ("{logs: {mountPath: /l, runs: Shared, for: [ps], claim: {size: 1Gi}}}", False),
    ],
)
def test_the_program_is_a_config_map_where_a_pod_has_the_lock(kind: str, storage: str, has_lock: bool) -> None:
    document = yaml.safe_load(JOB)
    document["spec"] |= {"workload": {"kind": kind}, "storage": yaml.safe_load(storage) or {}}
    by_name = {item["metadata"]["name"]: item for item in plain_objects(document)}
    program = by_name.pop(LOCK, None)
    assert (program or {}).get("data") == ({"run_lock.py": programs.file("run_lock").text} if has_lock else None)
    assert ("/run-lock/run_lock.py" in repr(by_name), f"'configMap': {{'name': '{LOCK}'}}" in repr(by_name)) == (
        has_lock,
        has_lock,
    )


# -- the deadline of a pod that waits for the lock ----------------------------------------------------------------

JOB = """\
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1
  roles: {chief: {}, ps: {}, worker: {}}
"""


@pytest.mark.parametrize(
    ("more", "seconds"),
    [
        ("deadline: 3600", 3600),
        ("deadline: 3600, storage: {model: {mountPath: /model, runs: Shared, claim: {size: 1Gi}}}", 4200),
        ("deadline: 3600, lockWait: 60, storage: {m: {mountPath: /m, runs: Separate, claim: {size: 1Gi}}}", 3660),
        # The chief ends the job, has no such volume, and so waits for no lock.
        ("deadline: 3600, storage: {logs: {mountPath: /l, runs: Shared, for: [ps], claim: {size: 1Gi}}}", 3600),
        ("storage: {model: {mountPath: /model, runs: Shared, claim: {size: 1Gi}}}", None),
    ],
)
def test_the_wait_for_the_lock_is_given_to_the_deadline(more: str, seconds: int | None) -> None:
    document = yaml.safe_load(JOB)
    document["spec"] |= yaml.safe_load(f"{{{more}}}")
    chief = next(item for item in plain_objects(document) if item["metadata"]["name"] == "mnist-chief")
    assert chief["spec"]["template"]["spec"].get("activeDeadlineSeconds") == seconds
