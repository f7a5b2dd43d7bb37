"""Runs as real clusters had them: a folder each, with job.yaml, cluster.json (tests/support/recorded_run.py), and what
``tfgen status`` says of it in status.txt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.recorded_run import read_recorded, read_run
from tfgen.live.run_state import judge
from tfgen.report.status import as_text

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/cluster.json"))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_recorded_run_is_judged(case: Path) -> None:
    snapshot, environment, now = read_recorded(case / "cluster.json")
    run = read_run(case / "job.yaml", environment)
    assert as_text(judge(run, snapshot, "ml"), now) == (case / "status.txt").read_text(encoding="utf-8")


def test_there_are_cases() -> None:
    assert len(CASES) > 5
