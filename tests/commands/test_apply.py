"""The differences that `tfgen apply` and `tfgen diff --live` show."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")

from tfgen.commands.apply import live_changes

JOB_SET = Path(__file__).parents[1] / "golden/job-set/expected/overlays/job-set/base/jobset.yaml"


def containers(job_set: Any) -> list[dict[str, Any]]:
    return [
        container
        for job in job_set["spec"]["replicatedJobs"]
        for container in job["template"]["spec"]["template"]["spec"]["containers"]
    ]


def test_a_webhook_s_form_of_quantities_is_no_change() -> None:
    """JobSet's webhook writes the object anew at its creation: https://pkg.go.dev/encoding/json of a Quantity."""
    after = yaml.safe_load(JOB_SET.read_text(encoding="utf-8"))
    containers(after)[0]["env"].append({"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}})
    containers(after)[0]["env"].append({"name": "RUN", "value": ""})
    containers(after)[0]["resources"] = {"limits": {"cpu": 2, "memory": "1024Mi"}}
    before = copy.deepcopy(after)
    del containers(before)[0]["env"][-1]["value"]
    containers(before)[0]["env"][-2]["valueFrom"]["resourceFieldRef"]["divisor"] = "0"
    containers(before)[0]["resources"] = {"limits": {"cpu": "2", "memory": "1Gi"}}
    assert live_changes(before, after) == ()
    containers(before)[0]["resources"] = {"limits": {"cpu": "3", "memory": "1Gi"}}
    assert [change.path.steps for change in live_changes(before, after)] == [("spec", "replicatedJobs")]
