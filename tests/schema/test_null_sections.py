"""Tests of the fixes in the messages about a null section: each test applies the fix to the job with the mistake."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tfgen.check.jobs import check
from tfgen.graph.graph import build


def job(environment: Any, **spec: Any) -> str:
    return json.dumps(
        {
            "apiVersion": "tfgen/v1alpha1",
            "kind": "TrainingJob",
            "metadata": {"name": "mnist"},
            "spec": {
                "image": "registry.ml.internal/ml/mnist:1.4.0",
                "roles": {"chief": {}, "ps": {}, "worker": {"replicas": 4}},
                "gang": {"scheduler": "volcano"},
                "storage": {"logs": {"mountPath": "/logs", "claim": {"size": "1Gi", "accessMode": "ReadWriteMany"}}},
                "tensorboard": {"logDir": "/logs"},
                "environments": {"dev": environment},
                **spec,
            },
        }
    )


def errors(text: str) -> list[str]:
    return [one.message for one in check(text, "job.yaml").problems if one.severity == "error"]


def kinds(text: str) -> set[str]:
    (document,) = check(text, "job.yaml").documents
    return {item["kind"] for item in build(document.data).environments["dev"].values()}


@pytest.mark.parametrize(("section", "kind"), [("gang", "PodGroup"), ("tensorboard", "Deployment")])
def test_a_section_of_an_environment_is_switched_off(section: str, kind: str) -> None:
    (message,) = errors(job({section: None}))
    assert message.endswith("; write {enabled: false} to switch the section off")
    cured = job({section: {"enabled": False}})
    assert errors(cured) == []
    assert kind in kinds(job({}))
    assert kind not in kinds(cured)


def test_no_environment_lacks_a_role() -> None:
    (message,) = errors(job({"roles": {"worker": None}}))
    assert "each environment has all roles of the job: remove the key, or make dev a separate job" in message
    assert errors(job({"roles": {}})) == []


@pytest.mark.parametrize("section", ["network", "security", "completion"])
def test_a_section_with_defaults_has_the_values_of_the_job(section: str) -> None:
    (message,) = errors(job({section: None}))
    assert message.endswith("; remove the key: the environment then has the values of the job")
    assert "{}" not in message


@pytest.mark.parametrize("section", ["gang", "code", "gitops"])
def test_an_optional_section_of_a_job_is_removed(section: str) -> None:
    (message,) = errors(job({}, **{section: None}))
    assert message.endswith("; remove the key")
