"""A killed `tfgen render` of many jobs: each file is old or new, and the next render completes the write."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

JOBS = 40
KILLS = 150
JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: j{number}}}
spec:
  image: ml.example.org/mnist:1.4.0
  roles: {{ps: {{}}, chief: {{}}, worker: {{replicas: {workers}}}}}
  environments: {{prod: {{}}}}
"""
UNFINISHED = b'"unfinished"'
COMMAND = (sys.executable, "-m", "tfgen", "render", "jobs")


def write_jobs(*, workers: int, fields: str = "") -> None:
    for number in range(JOBS):
        Path(f"jobs/{number}.yaml").write_text(JOB.format(number=number, workers=workers) + fields, encoding="utf-8")


def files() -> dict[str, bytes]:
    """Return the rendered files and the ledgers, without the files in staging folders."""
    paths = (path for folder in (".tfgen", "charts", "overlays") for path in Path(folder).rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in paths if ".tmp" not in str(path)}


def staged() -> list[Path]:
    """Return what is left of staging folders. The cache deletes its own unfinished entries later, as old entries."""
    return [path for folder in (".tfgen", "charts", "overlays") for path in Path(folder).rglob(".tfgen-*.tmp")]


def rendered_files() -> dict[str, bytes]:
    subprocess.run(COMMAND, check=True, stdout=subprocess.DEVNULL)
    assert staged() == []
    return files()


def wait_for_write(process: subprocess.Popen[bytes]) -> None:
    """Wait until a render has begun to write, or has ended."""
    while process.poll() is None:
        with contextlib.suppress(FileNotFoundError):  # a ledger may be replaced between the two steps
            if any(UNFINISHED in path.read_bytes() for path in Path(".tfgen").glob("*.json")):
                return
        time.sleep(0.002)


@pytest.mark.parametrize("is_first", [False, True], ids=["changed", "first"])
def test_each_file_is_old_or_new_and_the_next_render_mends(
    is_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("jobs").mkdir()
    old: dict[str, bytes] = {}
    if not is_first:
        write_jobs(workers=2, fields="  tensorboard: {logDir: /logs}\n")
        old = rendered_files()
    kept = tmp_path / "kept"
    for folder in (".tfgen", "charts", "overlays"):
        if Path(folder).exists():
            shutil.copytree(folder, kept / folder)
    write_jobs(workers=3)
    start = time.monotonic()
    new = rendered_files()
    duration_s = time.monotonic() - start
    assert old.keys() != new.keys()
    delays = random.Random(0)
    unfinished = 0
    for kill in range(KILLS // 2):
        for folder in (".tfgen", "charts", "overlays", "cache"):
            shutil.rmtree(folder, ignore_errors=True)
        if kept.exists():
            shutil.copytree(kept, ".", dirs_exist_ok=True)
        with subprocess.Popen(COMMAND, stdout=subprocess.DEVNULL, start_new_session=True) as process:
            if kill % 2:
                wait_for_write(process)
                time.sleep(delays.uniform(0, 0.04))
            else:
                time.sleep(duration_s * delays.uniform(0, 1))
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        found = files()
        for path in (old.keys() | new.keys()) - {path for path in found if path.startswith(".tfgen/")}:
            assert found.get(path) in (old.get(path), new.get(path)), (kill, path)
        assert found.keys() <= old.keys() | new.keys()
        unfinished += any(UNFINISHED in text for path, text in found.items() if path.startswith(".tfgen/"))
        assert rendered_files() == new, kill
    assert unfinished > KILLS // 8, "too few kills met a render that writes"
