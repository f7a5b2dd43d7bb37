"""Tests of several processes that write the files of many jobs: the result is the same as from one process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.tools import ROOT
from tfgen import workers
from tfgen.errors import TfgenError
from tfgen.tree.files import FileTree
from tfgen.tree.folder import OutputFolder
from tfgen.tree.plan import WriteRequest
from tfgen.tree.staging import Rendering
from tfgen.tree.write import apply, plan_write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="one process does it all elsewhere")

JOBS = range(2 * workers.MANY)
SHARED = "overlays/argocd/patches/argocd-cm.yaml"
BLOCKED, EDITED = "charts/job-30", "charts/job-30/files/a.py"


def renderings(text: str) -> list[Rendering]:
    """Return jobs with two files each, and with one file that all jobs share."""
    trees = {
        f"job-{at}": {f"charts/job-{at}/Chart.yaml": text, f"charts/job-{at}/files/a.py": text, SHARED: text}
        for at in JOBS
    }
    return [Rendering(job, FileTree(tree), "0" * 64, shared=frozenset({SHARED})) for job, tree in trees.items()]


def render(out: Path, text: str, meanwhile: dict[str, str], processes: int) -> None:
    """Render, and print the error and the number of processes that staged files.

    Args:
        out: The output folder.
        text: The content of all files.
        meanwhile: Files that another program writes between the plan and the render.
        processes: The number of processes. Each process waits with its first file until all processes have a file.
    """
    workers._processors = lambda: processes
    staged_by = out / "staged_by"
    write = OutputFolder.write

    def number_of_stagers() -> int:
        return len({*staged_by.read_text().split()})

    def noted(folder: OutputFolder, texts: dict[str, str]) -> None:
        if any("/charts/" in path for path in texts):
            with staged_by.open("a") as file:
                file.write(f"{os.getpid()}\n")
            deadline = time.monotonic() + 60
            while number_of_stagers() < processes and time.monotonic() < deadline:
                time.sleep(0.01)
        write(folder, texts)

    OutputFolder.write = noted  # type: ignore[method-assign, assignment]
    plan = plan_write(WriteRequest(out, renderings(text)))
    for path, content in meanwhile.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_text(content)
    try:
        apply(plan)
    except TfgenError as error:
        print(error)
    print(number_of_stagers(), "staged")
    staged_by.unlink()


def rendered(out: Path, text: str, meanwhile: dict[str, str], processes: int) -> list[str]:
    """Return the output of a render in a separate process, which may start other processes."""
    program = f"from tests.tree.test_many_jobs import *; render(Path({str(out)!r}), {text!r}, {meanwhile}, {processes})"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def files(out: Path) -> dict[str, str | None]:
    """Return the text of each file, and None for each folder and each ledger."""
    return {
        path.relative_to(out).as_posix(): None if path.is_dir() or ".tfgen" in path.parts else path.read_text()
        for path in out.rglob("*")
    }


@pytest.mark.parametrize("processes", [1, 2])
def test_several_processes_write_what_one_would(tmp_path: Path, processes: int) -> None:
    assert rendered(tmp_path, "1\n", {}, processes) == [f"{processes} staged"]
    names = [f"charts/job-{at}" for at in JOBS]
    assert files(tmp_path) == {
        **dict.fromkeys((".tfgen", "charts", "overlays", "overlays/argocd", "overlays/argocd/patches"), None),
        **{
            path: None
            for name in names
            for path in (name, f"{name}/files", f".tfgen/{name.removeprefix('charts/')}.json")
        },
        **{path: "1\n" for name in names for path in (f"{name}/Chart.yaml", f"{name}/files/a.py")},
        SHARED: "1\n",
    }


@pytest.mark.parametrize("processes", [1, 2])
def test_where_one_cannot_be_staged_nothing_is_written(tmp_path: Path, processes: int) -> None:
    said = rendered(tmp_path, "1\n", {BLOCKED: "mine\n"}, processes)
    assert said == [f"{BLOCKED} is a file, where tfgen needs a folder", f"{processes} staged"]
    assert files(tmp_path) == {"charts": None, BLOCKED: "mine\n"}


@pytest.mark.parametrize("processes", [1, 2])
def test_where_one_was_edited_meanwhile_the_others_are_whole_and_nothing_temporary_stays(
    tmp_path: Path, processes: int
) -> None:
    rendered(tmp_path, "1\n", {}, processes)
    before = files(tmp_path)
    said = rendered(tmp_path, "2\n", {EDITED: "mine\n"}, processes)
    assert said == [
        f"{EDITED}: another program changed the file while tfgen ran; tfgen kept the change; run the command again",
        f"{processes} staged",
    ]
    after = files(tmp_path)
    assert after.keys() == before.keys()
    assert after[EDITED] == "mine\n"
    assert {text for path, text in after.items() if text is not None and path != EDITED} <= {"1\n", "2\n"}
