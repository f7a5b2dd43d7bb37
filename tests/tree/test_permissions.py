"""Files and folders without permissions: tfgen prints a line with the path, and changes no file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.small_job import JOB
from tests.support.tools import ROOT

NOBODY = 65534
OTHER = JOB.replace("{name: mnist}", "{name: other}")

pytestmark = [
    pytest.mark.long,
    pytest.mark.may_skip("the user nobody may not read this Python, or this checkout"),
    pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="needs setpriv"),
]


@pytest.fixture(scope="module")
def rendered() -> Iterator[Path]:
    """Make two rendered jobs."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        for job, text in (("mnist", JOB), ("other", OTHER)):
            (path / "jobs" / job).mkdir(parents=True)
            (path / "jobs" / job / "job.yaml").write_text(text, encoding="utf-8")
        _own(path)
        code, said = tfgen(path, "render", "jobs")
        if code and ("tfgen" not in said or said.endswith("No module named tfgen\n")):  # as below /root
            pytest.skip(f"the user nobody may not read this Python, or this checkout: {said}")
        assert code == 0, said
        yield path


@pytest.fixture
def folder(rendered: Path) -> Iterator[Path]:
    """Copy two rendered jobs for a user other than root."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        shutil.copytree(rendered, path, dirs_exist_ok=True)
        _own(path)
        yield path
        for each in (path, *(each for each in path.rglob("*"))):
            if each.is_dir():
                each.chmod(0o755)


def _own(path: Path) -> None:
    if os.geteuid() == 0:
        for each in (path, *path.rglob("*")):
            os.chown(each, NOBODY, NOBODY)


def tfgen(folder: Path, *command: str) -> tuple[int, str]:
    """Return the exit code and the standard error of tfgen. If root runs the tests, the user nobody runs tfgen."""
    who = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups") if os.geteuid() == 0 else ()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "gen"), "HOME": str(folder)}
    argv = (*who, sys.executable, "-m", "tfgen", *command)
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def tree(folder: Path) -> dict[str, bytes]:
    """Return all files except the cache, which is in the home folder of the user: this folder."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".cache" not in path.parts)
    return {str(path): path.read_bytes() for path in files}


@pytest.mark.parametrize("command", ["check", "render", "diff"])
@pytest.mark.parametrize("closed", ["jobs/mnist/job.yaml", "jobs/mnist"])
def test_what_cannot_be_read_is_not_gone(folder: Path, command: str, closed: str) -> None:
    before = tree(folder)
    (folder / closed).chmod(0)
    assert tfgen(folder, command, "jobs") == (2, f"tfgen: error: {closed}: Permission denied\n")
    (folder / closed).chmod(0o755)
    assert tree(folder) == before


@pytest.mark.parametrize(
    ("closed", "mode", "named"),
    [
        ("charts/mnist", 0o555, "charts/mnist/values.yaml"),
        (".tfgen", 0o555, ".tfgen"),  # the staging checks the folder before it writes a file
        (".tfgen/mnist.json", 0, ".tfgen/mnist.json"),
        (".tfgen", 0, ".tfgen"),
        ("overlays/mnist/base/service.yaml", 0, "overlays/mnist/base/service.yaml"),
    ],
)
def test_what_cannot_be_written_leaves_all_as_it_is(folder: Path, closed: str, mode: int, named: str) -> None:
    job = folder / "jobs" / "mnist" / "job.yaml"
    job.write_text(JOB.replace("replicas: 4", "replicas: 5"), encoding="utf-8")
    before = tree(folder)
    (folder / closed).chmod(mode)
    code, said = tfgen(folder, "render", "jobs")
    (folder / closed).chmod(0o755)
    assert (code, said.count("\n")) == (3, 1), said
    assert said.startswith("tfgen: error: ")
    assert said.endswith(f"{named}: Permission denied\n") or closed == "charts/mnist"
    assert tree(folder) == before
    assert tfgen(folder, "render", "jobs")[0] == 0


def test_an_output_folder_that_cannot_be_made(folder: Path) -> None:
    (folder / "closed").mkdir(mode=0o555)
    _own(folder)
    assert tfgen(folder, "render", "jobs", "--out", "closed/out") == (
        3,
        "tfgen: error: closed/out: Permission denied\n",
    )
