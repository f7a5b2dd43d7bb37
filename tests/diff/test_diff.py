"""Tests of the diff of jobs: tests/diff/NAME has before.yaml, after.yaml, and the expected report in each format.

In a case without before.yaml, the job is new. In a case without after.yaml, the job is removed. For a new case, add a
folder, run `pytest tests/diff --golden-update`, and check the reports.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tfgen.change.comparison import Pair, name_of
from tfgen.change.job_diff import JobDiff, diff_job
from tfgen.check.jobs import check
from tfgen.errors import has_errors
from tfgen.report.diff import diff_markdown, diff_text, rows
from tfgen.text.document import Document

HERE = Path(__file__).parent
CASES = sorted(path for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__")


def documents(path: Path) -> dict[str, Document]:
    """Return the documents by the names of their jobs. Without a file, the result is empty."""
    if not path.exists():
        return {}
    checked = check(path.read_bytes(), "job.yaml")
    assert not has_errors(checked.problems), checked.problems
    return {name_of(document): document for document in checked.documents}


def diffs(case: Path) -> list[JobDiff]:
    before, after = documents(case / "before.yaml"), documents(case / "after.yaml")
    return [diff_job(Pair(before.get(name), after.get(name))) for name in {**after, **before}]


def outputs(case: Path) -> dict[str, str]:
    found = diffs(case)
    data = [rows(diff) for diff in found if diff]
    return {
        "expected.txt": diff_text(found),
        "expected.json": json.dumps(data, indent=2, ensure_ascii=False) + "\n",
        "expected.md": diff_markdown(found),
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_change_reads_as_expected(case: Path, request: pytest.FixtureRequest) -> None:
    found = outputs(case)
    if request.config.getoption("--golden-update", default=False):
        for name, text in found.items():
            (case / name).write_text(text, encoding="utf-8")
    assert {name: (case / name).read_text(encoding="utf-8") for name in found} == found
    assert {path.name for path in case.iterdir()} <= {"before.yaml", "after.yaml", *found}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_way_back_is_the_same_with_its_sides_changed(case: Path) -> None:
    before, after = documents(case / "before.yaml"), documents(case / "after.yaml")
    for name in {**after, **before}:
        there = diff_job(Pair(before.get(name), after.get(name)))
        back = diff_job(Pair(after.get(name), before.get(name)))
        assert sides(there) == {key: value[::-1] for key, value in sides(back).items()}


def sides(diff: JobDiff) -> dict[object, tuple[object, object]]:
    found: dict[object, tuple[object, object]] = {}
    for each in diff.environments:
        found[each.environment] = (each.before, each.after)
        for item in each.objects:
            # With a new run, tfgen shows the objects under their new names.
            key = (each.environment, item.title.replace("mnist-2", "mnist"))
            found[key] = (item.action == "removed", item.action == "added")
            found |= {(*key, str(change.path)): (change.before, change.after) for change in item.fields}
    return found


def test_markdown_is_bounded_and_says_what_it_leaves_out() -> None:
    found = [diff for case in CASES for diff in diffs(case)]
    whole = diff_markdown(found)
    for longest in (500, 2_000, 5_000):
        text = diff_markdown(found, longest)
        assert len(text) <= longest
        assert "`tfgen diff` shows all." in text
        assert text.count("<details>") == text.count("</details>")
    assert "`tfgen diff` shows all." not in whole


def test_colours_are_around_the_signs() -> None:
    found = diffs(HERE / "size")
    plain, coloured = diff_text(found), diff_text(found, colour=True)
    assert "\033[31m4\033[0m -> \033[32m8\033[0m" in coloured
    assert plain == re.sub(r"\033\[\d+m", "", coloured)
