"""Tests that a mistake of the job gives one warning for all roles."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.problems import all_problems
from tfgen.check.jobs import check

SHARED: dict[str, dict[str, Any]] = {
    "hidden-program": {
        "command": ["python", "/opt/train.py"],
        "storage": {"scratch": {"mountPath": "/opt", "emptyDir": {}}},
    },
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


def test_a_mistake_in_the_objects_of_all_roles_is_one_warning_at_the_line_of_the_job() -> None:
    job = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  env: {NVIDIA_VISIBLE_DEVICES: all}
  roles: {chief: {}, ps: {}, worker: {}}
"""
    (problem,) = (one for one in all_problems(job) if one.rule == "visible-devices")
    assert str(problem).startswith("job.yaml:6:33: warning: env.NVIDIA_VISIBLE_DEVICES: ")
