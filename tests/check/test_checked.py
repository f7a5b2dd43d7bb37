"""Tests of the rules that compare several jobs, with job records as the cache stores them in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tfgen.check.checked import JobRecord, find_clashes, record_job
from tfgen.check.jobs import check
from tfgen.rules.across import ACROSS
from tfgen.rules.rule import AcrossRule

INVALID = Path(__file__).parents[1] / "invalid"
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("rule", ACROSS, ids=lambda rule: rule.id)
def test_a_record_is_judged_alike_once_json_has_carried_it(rule: AcrossRule) -> None:
    path = INVALID / f"{rule.id}.yaml"
    records = [record_job(document) for document in check(path.read_bytes(), path.name).documents]
    carried = [JobRecord(record.job, json.loads(json.dumps(record.data_by_rule))) for record in records]
    clashes = [*find_clashes(records)]
    assert rule in {against for against, _ in clashes}
    assert [*find_clashes(carried)] == clashes


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/job.yaml")), ids=lambda path: path.parent.name)
def test_the_record_of_a_job_has_a_kilobyte_at_most(path: Path) -> None:
    for document in check(path.read_bytes(), path.name).documents:
        assert len(json.dumps(record_job(document).data_by_rule)) <= 1024
