"""Whole trees: tests/golden/NAME/job.yaml becomes tests/golden/NAME/expected, no file more and none less.

A new case is a new folder with a job.yaml, and `pytest tests/golden --golden-update`.
"""

from __future__ import annotations

import difflib
import shutil
from pathlib import Path

import pytest

from tfgen.check.jobs import check
from tfgen.problems import has_errors
from tfgen.targets.render import render

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/job.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_job_becomes_the_expected_tree(case, request):
    checked = check((case / "job.yaml").read_bytes(), f"{case.name}/job.yaml")
    assert not has_errors(checked.problems), checked.problems
    files = dict(render(checked.documents[0].data).tree.files)
    expected = case / "expected"
    if request.config.getoption("--golden-update", default=False):
        _write(files, expected)
    differences = _differences(_read(expected), files)
    assert not differences, "\n".join(differences)


def test_every_folder_is_a_case():
    folders = {path for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {*CASES}


def _differences(expected: dict[str, str], files: dict[str, str]) -> list[str]:
    """The lines of a unified diff; a file that one of the two lacks counts as empty."""
    return [
        line
        for path in sorted({*expected, *files})
        for line in difflib.unified_diff(
            expected.get(path, "").split("\n"),
            files.get(path, "").split("\n"),
            f"expected/{path}",
            path,
            lineterm="",
            n=1,
        )
    ]


def _read(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in folder.rglob("*") if path.is_file()
    }


def _write(files: dict[str, str], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
