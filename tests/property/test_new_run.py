"""Changes between any two jobs: each change has a line, and a new run everywhere resolves each change of a run."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from tests.support.draws import drawn
from tests.support.generated import document, jobs
from tfgen.change.new_run import find_new_runs

OF_THE_JOB = {"claim-change", "object-change", "priority-class-change"}
"""Rules of changes that belong to the job and not to a run. Another name resolves these changes."""


@pytest.mark.long
@drawn(4)
@given(jobs(environments=1), jobs(environments=1))
def test_new_run_resolves_every_change_of_a_run(before: Any, after: Any) -> None:
    after = {**after, "metadata": before["metadata"]}
    old = document(before)
    assert list(find_new_runs(old, old)) == []
    assert {problem.rule for problem in find_new_runs(old, document(after))} <= {"new-run", *OF_THE_JOB}
    raised = copy.deepcopy(after)
    for said in (raised["spec"], *raised["spec"]["environments"].values()):
        said["run"] = "never-drawn"
    assert "new-run" not in {problem.rule for problem in find_new_runs(old, document(raised))}
