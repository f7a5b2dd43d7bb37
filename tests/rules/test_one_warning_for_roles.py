"""Tests that a mistake of the job gives one warning for all roles."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tfgen.check.jobs import check

SHARED: dict[str, dict[str, Any]] = {
    "hidden-program": {
        "command": ["python", "/opt/train.py"],
        "storage": {"scratch": {"mountPath": "/opt", "emptyDir": {}}},
    },
    "visible-devices": {"env": {"NVIDIA_VISIBLE_DEVICES": "all"}},
}


@pytest.mark.parametrize("rule", SHARED)
def test_a_mistake_of_the_job_is_one_warning_that_names_the_roles(rule: str) -> None:
    roles: dict[str, Any] = {"chief": {}, "ps": {}, "worker": {}}
    job = {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {"image": "registry.example.com/ml/mnist:1.4.0", "roles": roles, **SHARED[rule]},
    }
    (message,) = (one.message for one in check(json.dumps(job), "job.yaml").problems if one.rule == rule)
    assert "the roles chief, ps and worker" in message
