"""Environments of custom workload kinds: JSON patches, which kustomize applies, change items of their lists."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support import normal, tools
from tests.support.command import CommandError
from tests.support.draws import drawn
from tests.support.generated import TEXT, Document, accepted
from tests.support.rendered import Rendered

pytestmark = pytest.mark.long

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


KINDS = ("JobSet", "VolcanoJob", "TFJob")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES)
def test_an_environment_has_the_same_objects_in_all_outputs(change, kind, tmp_path):
    job = document(kind, CHANGES[change])
    assert accepted(job)
    Rendered.write(job, tmp_path).assert_equal("prod")


# kustomize writes such a text as a literal block, and no YAML reader can read some of these blocks.
BLOCKS = st.builds("".join, st.lists(st.sampled_from("\t\n x:#-"), min_size=2, max_size=6))


def with_text(kind: str, text: str, change: str) -> Document:
    """Return a job with an environment, and with a text in each field that the custom object contains."""
    job = document(kind, CHANGES[change])
    chief = {"command": ["sh", "-c", text], "args": [text], "env": {"TEXT": text}, "annotations": {"a/b": text}}
    sidecar = {"name": "log", "image": "log:1", "args": [text]}
    return {**job, "spec": {**job["spec"], "roles": {**job["spec"]["roles"], "chief": chief}, "sidecars": [sidecar]}}


@pytest.mark.parametrize("kind", KINDS)
@drawn(6)
@given(text=TEXT | BLOCKS, change=st.sampled_from([*CHANGES]))
def test_kustomize_carries_a_text_into_every_place_of_the_object(kind, text, change):
    job = with_text(kind, text, change)
    if accepted(job):
        assert_by_kustomize(job)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES)
def test_kustomize_carries_a_block_that_begins_with_a_tab(change, kind):
    job = with_text(kind, "\tx\ny", change)
    assert accepted(job)
    assert_by_kustomize(job)


def test_a_text_that_an_environment_adds_may_begin_with_a_tab():
    job = document("JobSet", {"args": ["\tx\ny"], "roles": {"worker": {"replicas": 8}}})
    assert accepted(job)
    assert_by_kustomize(job)


def assert_by_kustomize(job: Document) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rendered = Rendered.write(job, Path(folder))
        outputs = {
            "tfgen": rendered.by_tfgen("prod"),
            "kustomize": rendered.by_kustomize("prod"),
            "our reading of the overlay": rendered.by_our_reading("prod"),
        }
    normal.assert_equal(outputs)


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
    """A user inserts a task before the others by hand. A patch must not change the wrong task."""
    rendered = Rendered.write(document("JobSet", CHANGES["replicas"]), tmp_path)
    path = rendered.overlay(None) / "jobset.yaml"
    item = yaml.safe_load(path.read_text(encoding="utf-8"))
    item["spec"]["replicatedJobs"].insert(0, {**item["spec"]["replicatedJobs"][0], "name": "first"})
    path.write_text(yaml.safe_dump(item), encoding="utf-8")
    with pytest.raises(CommandError, match="testing value /spec/replicatedJobs/2/name failed"):
        tools.kustomize_build(rendered.overlay("prod"))
