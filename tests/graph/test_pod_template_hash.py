"""The hash of a pod template: its input, and the objects that have or do not have the hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from tfgen.graph.built import plain_objects

HASH = "tfgen/pod-template-hash"
JOB = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: mnist:1
  env: {GREETING: "<é & \\u4e16>"}
  roles: {chief: {}, ps: {replicas: 2}, worker: {replicas: 4}, evaluator: {}}
  network: {policy: Isolated}
  podDisruptionBudget: {}
  tensorboard: {logDir: /tmp}
"""


def objects(**more: Any) -> Mapping[tuple[str, str], Any]:
    """Return the objects of a job with additional fields of its spec, by kind and name."""
    document = yaml.safe_load(JOB)
    document["spec"] |= more
    return {(item["kind"], item["metadata"]["name"]): item for item in plain_objects(document)}


def hashes(**more: Any) -> dict[str, str]:
    """Return the hashes of objects by the name of the object."""
    labels = (
        (name, item["spec"].get("template", {}).get("metadata", {}).get("labels", {}))
        for (_, name), item in objects(**more).items()
        if "spec" in item
    )
    return {name: each[HASH] for name, each in labels if HASH in each}


@pytest.mark.parametrize("name", ["ps", "worker"])
def test_it_is_that_of_the_template_without_it(name: str) -> None:
    spec = objects()["StatefulSet", f"mnist-{name}"]["spec"]
    template = json.loads(json.dumps(spec["template"]))
    label = template["metadata"]["labels"].pop(HASH)
    text = json.dumps(template, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert label == hashlib.sha256(text.encode()).hexdigest()[:12]
    assert spec["selector"]["matchLabels"] == {
        "tfgen/job": "mnist",
        "tfgen/run": "",
        "tfgen/role": name,
        HASH: label,
    }


def test_all_that_makes_pods_of_a_run_has_one() -> None:
    assert hashes().keys() == {"mnist-chief", "mnist-ps", "mnist-worker", "mnist-evaluator", "mnist-finisher"}


@pytest.mark.parametrize("kind", ["TFJob", "VolcanoJob", "JobSet"])
def test_what_a_custom_kind_makes_of_its_template_is_its_own_matter(kind: str) -> None:
    document = yaml.safe_load(JOB)
    spec = {"image": "mnist:1", "roles": {"chief": {}, "worker": {}}, "workload": {"kind": kind}}
    assert HASH not in json.dumps(plain_objects({**document, "spec": spec}))


def test_no_other_object_selects_by_it() -> None:
    """Selectors of a run match its pods with every hash of the pod template."""
    for (kind, name), item in objects().items():
        for path in _paths(item):
            if path[-1] == HASH:
                selects = kind == "StatefulSet" and path[:3] == ("spec", "selector", "matchLabels")
                assert selects or path == ("spec", "template", "metadata", "labels", HASH), name


def _paths(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, child in data.items() if isinstance(data, Mapping) else enumerate(data):
        inner = (*path, str(key))
        yield inner
        if isinstance(child, (Mapping, list)):
            yield from _paths(child, inner)


@pytest.mark.parametrize(
    ("more", "changed"),
    [
        ({"labels": {"team": "vision"}}, {"chief", "ps", "worker", "evaluator", "finisher"}),
        ({"image": "mnist:2"}, {"chief", "ps", "worker", "evaluator", "finisher"}),
        ({"env": {"GREETING": ""}}, {"chief", "ps", "worker", "evaluator"}),
        ({"deadline": 3600}, {"chief"}),
        ({"startDeadline": 60}, {"finisher"}),
        ({"roles": {"chief": {}, "ps": {"replicas": 3}, "worker": {"replicas": 9}, "evaluator": {}}}, set()),
        ({"retries": 7}, set()),
        ({"network": {"policy": "Off"}}, set()),
        ({"gitops": {"repository": "https://example.com/x.git"}}, set()),
    ],
)
def test_another_one_goes_with_other_pods_and_with_nothing_else(more: dict[str, Any], changed: set[str]) -> None:
    before, after = hashes(), hashes(**more)
    assert {name.removeprefix("mnist-") for name in before if before[name] != after[name]} == changed
