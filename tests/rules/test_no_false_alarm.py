"""Tests that the rules on failures in the cluster find no problem in the examples and in the golden jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tools import ROOT
from tfgen.check.jobs import check

JOBS = sorted([*ROOT.glob("examples/*/job.yaml"), *ROOT.glob("tests/golden/*/job.yaml")])
RULES = {
    "hidden-program",
    "low-port",
    "misspelt-field",
    "object-kind",
    "odd-amount",
    "shell-operator",
    "shm-size",
    "unknown-field",
    "unknown-variable",
    "unmounted-folder",
    "visible-devices",
    "wrong-shape",
}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.parent.name)
def test_a_sound_job_has_none_of_these_problems(job: Path) -> None:
    checked = check(job.read_bytes(), "job.yaml")
    assert checked.documents
    assert [str(problem) for problem in checked.problems if problem.rule in RULES] == []
