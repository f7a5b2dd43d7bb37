"""Environments of custom kinds: JSON patches change items of their lists, as kustomize applies them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from tests.support import tools
from tests.support.command import CommandError
from tests.support.generated import Document, accepted
from tests.support.rendered import Rendered

CHANGES: Mapping[str, Mapping[str, Any]] = {
    "replicas": {"roles": {"worker": {"replicas": 8}}},
    "a run": {"run": "2", "args": ["b"]},
    "annotations come": {"annotations": {"a/b": "1e3", "c": "x~1"}},
    "annotations go": {"annotations": {"team": None}, "env": {"B": None, "N": "no", "AA": "1"}},
    "an image": {"image": "registry.example.com/mnist:2", "roles": {"ps": {"image": "other:3"}}},
}


def document(kind: str, environment: Mapping[str, Any]) -> Document:
    return {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {
            "workload": {"kind": kind},
            "image": "registry.example.com/mnist:1",
            "annotations": {"team": "vision"},
            "env": {"A": "1", "B": "2"},
            "roles": {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 4}},
            "environments": {"prod": environment},
        },
    }


@pytest.mark.parametrize("kind", ["JobSet", "VolcanoJob", "TFJob"])
@pytest.mark.parametrize("change", CHANGES)
def test_an_environment_has_the_same_objects_in_all_outputs(change, kind, tmp_path):
    job = document(kind, CHANGES[change])
    assert accepted(job)
    Rendered.write(job, tmp_path).assert_equal("prod")


def test_a_patch_says_what_changes_and_no_more(tmp_path):
    rendered = Rendered.write(document("JobSet", CHANGES["replicas"]), tmp_path)
    patch = yaml.safe_load((rendered.overlay("prod") / "jobset.patch.yaml").read_text(encoding="utf-8"))
    template = "/spec/replicatedJobs/2/template/spec"
    assert patch == [
        {"op": "test", "path": "/spec/replicatedJobs/2/name", "value": "worker"},
        {"op": "replace", "path": f"{template}/completions", "value": 8},
        {"op": "replace", "path": f"{template}/parallelism", "value": 8},
    ]


def test_over_another_base_the_build_fails(tmp_path):
    """Somebody put a task in front of the others by hand: no patch changes the wrong one."""
    rendered = Rendered.write(document("JobSet", CHANGES["replicas"]), tmp_path)
    path = rendered.overlay(None) / "jobset.yaml"
    item = yaml.safe_load(path.read_text(encoding="utf-8"))
    item["spec"]["replicatedJobs"].insert(0, {**item["spec"]["replicatedJobs"][0], "name": "first"})
    path.write_text(yaml.safe_dump(item), encoding="utf-8")
    with pytest.raises(CommandError, match="testing value /spec/replicatedJobs/2/name failed"):
        tools.kustomize_build(rendered.overlay("prod"))
