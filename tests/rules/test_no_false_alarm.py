"""Tests that the rules on failures in the cluster find no problem in the examples and in the golden jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.problems import all_problems
from tests.support.tools import ROOT
from tfgen.check.object_table import SUMMARIES

JOBS = sorted([*ROOT.glob("examples/*/job.yaml"), *ROOT.glob("tests/golden/*/job.yaml")])
RULES = {
    *(SUMMARIES.keys() - {"second-container"}),  # a golden job has a second container
    "hidden-program",
    "misspelt-field",
    "shell-operator",
    "unknown-field",
    "unknown-variable",
    "unmounted-folder",
    "wrong-shape",
}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.parent.name)
def test_a_sound_job_has_none_of_these_problems(job: Path) -> None:
    assert [str(problem) for problem in all_problems(job.read_bytes()) if problem.rule in RULES] == []
