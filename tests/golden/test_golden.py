"""Jobs and what they become: tests/golden/NAME/job.yaml becomes tests/golden/NAME/expected.

A case without a file `only` is compared whole: no file more and none less. With one, only the files whose path fits are
compared, and of these none may be missing and none may be more. A line of `only` is a pattern for paths (`*` also
stands for what has a `/`), a line with `!` in front leaves paths out again, and of several lines that fit the last
counts.

A new case is a new folder with a job.yaml, perhaps `only`, and `pytest tests/golden --golden-update`.
"""

from __future__ import annotations

import difflib
import shutil
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tfgen.check.jobs import check
from tfgen.problems import has_errors
from tfgen.schema.workload_kinds import WORKLOAD_KINDS, of_spec
from tfgen.targets.render import render
from tfgen.text.parse import parse

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/job.yaml"))
WITH_DESCRIPTIONS = ("everything", "minimal")
"""The cases that show what is written of the schema's descriptions, so that another word there changes these alone."""
DESCRIPTIONS = ("values.schema.json", "values.yaml", "README.md")
"""The files of a chart that hold the schema's descriptions."""


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
    """Or the case would compare less than it seems to."""
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
    """The lines of a case's file `only`; without one, the pattern of everything."""
    only = case / "only"
    return only.read_text(encoding="utf-8").split() if only.exists() else ["*"]


def _fits(path: str, patterns: list[str]) -> bool:
    """Test whether the last pattern that matches a path includes the path."""
    fitting = [line for line in patterns if fnmatchcase(path, line.lstrip("!"))]
    return bool(fitting) and not fitting[-1].startswith("!")


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
