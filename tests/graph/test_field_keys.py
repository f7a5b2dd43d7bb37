"""The keys of a field: the keys of job.yaml whose change changes the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.tools import ROOT
from tfgen.data_path import Path
from tfgen.graph.field_keys import JOB_NAME, changed_jobs, keys_at, keys_of_fields, structure_keys
from tfgen.graph.graph import BuiltJob, build
from tfgen.text.parse import parse

JOB: Mapping[str, Any] = {
    "metadata": {"name": "mnist"},
    "spec": {
        "image": "registry.example.com/mnist:1",
        "args": ["--steps", "100"],
        "labels": {"team": "vision"},
        "gang": {"scheduler": "volcano"},
        "roles": {
            "chief": {},
            "ps": {},
            "worker": {"replicas": 2, "nodeSelector": {"pool": "gpu"}, "resources": {"cpu": "2", "memory": "4Gi"}},
        },
        "environments": {"prod": {"roles": {"worker": {"replicas": 8}}}},
    },
}
CONTAINER: Path = ("spec", "template", "spec", "containers", 0)


def job() -> BuiltJob:
    return build(JOB)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("metadata", "name"), {JOB_NAME, ("spec", "run")}),
        (("spec", "replicas"), {("spec", "roles", "worker", "replicas")}),
        ((*CONTAINER, "image"), {("spec", "image")}),
        ((*CONTAINER, "args", 1), {("spec", "args")}),
        (("metadata", "labels", "team"), {("spec", "labels", "team")}),
        (("spec", "template", "spec", "nodeSelector", "pool"), {("spec", "roles", "worker", "nodeSelector", "pool")}),
        (("spec", "podManagementPolicy"), set()),
    ],
)
def test_field_has_the_keys_whose_change_changes_the_field(path: Path, expected: set[Path]) -> None:
    assert keys_of_fields(job(), None, "worker").get(path, frozenset()) == expected


def test_field_of_an_environment_has_the_same_keys_as_in_the_job() -> None:
    keys = keys_of_fields(job(), "prod", "worker")
    assert keys["spec", "replicas"] == {("spec", "roles", "worker", "replicas")}


def test_mapping_has_the_common_parent_of_the_keys_of_its_parts() -> None:
    built = job()
    keys, worker = keys_of_fields(built, None, "worker"), built.base["worker"]
    requests = (*CONTAINER, "resources", "requests")
    assert keys_at(keys, worker, requests) == {("spec", "roles", "worker", "resources")}
    assert keys_at(keys, worker, ("spec", "template")) == frozenset()
    assert keys_at(keys, worker, ("spec", "absent")) == frozenset()


@pytest.mark.parametrize("case", ["everything", "elastic-dl", "job-set"])
def test_change_changes_only_the_values(case: str) -> None:
    text = (ROOT / "tests/golden" / case / "job.yaml").read_text(encoding="utf-8")
    built = build(parse(text, case).documents[0].data)
    for key, changed in changed_jobs(built.job, None, of_base=False):
        if key == JOB_NAME:
            continue
        assert changed.structure == built.job.structure
        assert changed.values != built.job.values


def test_keys_of_the_structure_are_no_values() -> None:
    assert list(structure_keys(JOB)) == [("spec", "gang")]
