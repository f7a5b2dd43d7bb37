"""Guards of an upgrade: the rule of the exit codes in a chart whose environment patches the failure policy."""

from __future__ import annotations

from typing import Any

import pytest

from tfgen.job.training_job import TrainingJob
from tfgen.targets.chart.templates import template_files

RULE = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3]}}


def patch(path: str) -> dict[str, Any]:
    operation = {"op": "add", "path": f"/spec/podFailurePolicy/rules/{path}", "value": RULE}
    return {"patches": {"p": {"target": {"kind": "Job"}, "json": [operation]}}}


@pytest.mark.parametrize(
    ("spec", "guarded"),
    [
        ({}, True),
        (patch("0"), True),
        (patch("-"), False),
        ({"environments": {"prod": patch("0")}}, True),
        ({"environments": {"prod": patch("-")}}, False),
    ],
    ids=["no patch", "first", "last", "first in an environment", "last in an environment"],
)
def test_the_guard_compares_the_exit_codes_of_the_last_rule(spec: dict[str, Any], guarded: bool) -> None:
    roles = {"chief": {}, "worker": {}}
    job = TrainingJob.from_document({"metadata": {"name": "mnist"}, "spec": {"roles": roles, **spec}})
    guards = template_files(job.structure)["templates/guards.yaml"]
    assert ('(last (dig "spec" "podFailurePolicy" "rules"' in " ".join(guards.split())) == guarded
    assert ('"podFailurePolicy"' in guards) == guarded
