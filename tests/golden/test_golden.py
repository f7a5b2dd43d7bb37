"""Tests of rendered files: tfgen must render tests/golden/NAME/job.yaml to exactly the files in NAME/expected.

A case with a file `only` compares only the files whose path matches. Each line of `only` is a pattern for paths, in
which `*` also matches `/`. A line that begins with `!` excludes paths. If several lines match a path, the last applies.

An empty file with the name of a program in gen/tfgen/graph/programs stands for the text of the program.

For a new case, add a folder with a job.yaml and optionally `only`, and run `pytest tests/golden --golden-update`.
"""

from __future__ import annotations

import difflib
import shutil
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tfgen.check.jobs import check
from tfgen.errors import has_errors
from tfgen.graph import programs
from tfgen.schema.kinds import WORKLOAD_KINDS, of_spec
from tfgen.targets.render import render
from tfgen.text.parse import parse

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/job.yaml"))
WITH_DESCRIPTIONS = ("everything", "minimal")
"""The cases that compare the files with the schema's descriptions. A new description changes only these cases."""
DESCRIPTIONS = ("values.schema.json", "values.yaml", "README.md")
"""The files of a chart that contain the schema's descriptions."""
PROGRAMS = {path.name: path.read_bytes().decode() for path in Path(programs.__file__).parent.glob("[!_]*.py")}
"""The programs that tfgen copies into charts and overlays, by the name of the file."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_job_becomes_the_expected_files(case, request):
    checked = check((case / "job.yaml").read_bytes(), f"{case.name}/job.yaml")
    assert not has_errors(checked.problems), checked.problems
    patterns = _patterns(case)
    files = {path: text for path, text in render(checked.documents[0].data).tree.files.items() if _fits(path, patterns)}
    expected = case / "expected"
    if request.config.getoption("--golden-update", default=False):
        _write(files, expected)
    differences = _differences(_read(expected), files)
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_pattern_fits_a_file(case):
    """With an unused pattern, the case would compare fewer files than its `only` suggests."""
    paths = render(_document(case)).tree.files
    assert [line for line in _patterns(case) if not any(fnmatchcase(path, line.lstrip("!")) for path in paths)] == []
    assert any(_fits(path, _patterns(case)) for path in paths)


def test_every_folder_is_a_case():
    folders = {path for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {*CASES}


def test_another_word_in_a_description_changes_two_cases():
    files = [path for name in DESCRIPTIONS for path in HERE.glob(f"*/expected/charts/*/{name}")]
    assert {path.relative_to(HERE).parts[0] for path in files} == {*WITH_DESCRIPTIONS}
    assert len(files) == len(DESCRIPTIONS) * len(WITH_DESCRIPTIONS)


def test_a_job_of_every_workload_kind_is_compared_whole():
    but_descriptions = ["*", *(f"!*/{name}" for name in DESCRIPTIONS)]
    whole = [case for case in CASES if _patterns(case) in (["*"], but_descriptions)]
    assert {of_spec(_document(case)["spec"]) for case in whole} == {*WORKLOAD_KINDS}


def _document(case: Path) -> Any:
    return parse((case / "job.yaml").read_text(encoding="utf-8"), "job.yaml").documents[0].data


def _patterns(case: Path) -> list[str]:
    """Return the lines of a case's file `only`, or a pattern for all paths if the file does not exist."""
    only = case / "only"
    return only.read_text(encoding="utf-8").split() if only.exists() else ["*"]


def _fits(path: str, patterns: list[str]) -> bool:
    """Test whether the last pattern that matches a path includes the path."""
    fitting = [line for line in patterns if fnmatchcase(path, line.lstrip("!"))]
    return bool(fitting) and not fitting[-1].startswith("!")


def _differences(expected: dict[str, str], files: dict[str, str]) -> list[str]:
    """Return the lines of a unified diff. A missing file counts as empty."""
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
        path.relative_to(folder).as_posix(): path.read_bytes().decode() or PROGRAMS.get(path.name, "")
        for path in folder.rglob("*")
        if path.is_file()
    }


def _write(files: dict[str, str], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        is_program = text == PROGRAMS.get(Path(path).name)
        (folder / path).write_bytes(b"" if is_program else text.encode())
