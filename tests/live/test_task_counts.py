"""Tests of the number of tasks of each role, in the objects of operators from the golden files."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tfgen.live.task_counts import task_counts

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize(
    ("case", "file", "expected"),
    [
        ("job-set", "jobset", {"evaluator": 1, "worker": 4}),
        ("volcano-job", "volcanojob", {"chief": 1, "ps": 2, "worker": 4, "evaluator": 1}),
        ("tfjob", "tfjob", {"chief": 1, "ps": 2, "worker": 4}),
    ],
)
def test_an_operator_s_job_has_the_number_of_tasks_of_each_role(case: str, file: str, expected: dict[str, int]) -> None:
    path = GOLDEN / case / "expected" / "overlays" / case / "base" / f"{file}.yaml"
    assert task_counts(yaml.safe_load(path.read_text(encoding="utf-8"))) == expected
