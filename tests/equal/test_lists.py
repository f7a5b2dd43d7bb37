"""Lists that kustomize merges by key: kustomize changes the order of the items, or drops some items."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import pytest

from tests.support import normal, tools
from tests.support.generated import Document
from tests.support.rendered import Rendered
from tfgen.check.jobs import check
from tfgen.errors import has_errors
from tfgen.schema import kubernetes_fields
from tfgen.targets.kustomize.build import build_objects
from tfgen.targets.kustomize.patch import strategic_merge_patch
from tfgen.text.yaml_text import documents, dump

pytestmark = pytest.mark.long

JOB: Mapping[str, Any] = {
    "image": "a:1",
    "roles": {"chief": {}, "ps": {}, "worker": {}},
}


def document(spec: Mapping[str, Any], environment: Mapping[str, Any]) -> Document:
    return {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {**JOB, **spec, "environments": {"dev": environment}},
    }


def spread(topology: str) -> Mapping[str, Any]:
    """Return a constraint for a topology. `a` and `A` have the same topology and differ in `whenUnsatisfiable`."""
    unsatisfiable = "ScheduleAnyway" if topology.isupper() else "DoNotSchedule"
    return {"maxSkew": 1, "topologyKey": topology.lower(), "whenUnsatisfiable": unsatisfiable}


@pytest.mark.parametrize(
    ("job", "environment"),
    [("a", "ba"), ("a", "ab"), ("ab", "ba"), ("ab", "acb"), ("ab", "cab"), ("a", "aA"), ("aA", "Aa"), ("abc", "b")],
)
def test_the_spread_of_an_environment_has_its_order(job, environment, tmp_path):
    spreads = [{"topologySpreadConstraints": [spread(topology) for topology in said]} for said in (job, environment)]
    rendered = Rendered.write(document(*spreads), tmp_path)
    by_kustomize = rendered.by_kustomize("dev")
    (chief,) = (item for item in by_kustomize.values() if item["metadata"]["name"] == "mnist-chief")
    selector = {"matchLabels": {"tfgen/job": "mnist", "tfgen/run": "", "tfgen/role": "chief"}}
    expected = [{**spread(topology), "labelSelector": selector} for topology in environment]
    assert chief["spec"]["template"]["spec"]["topologySpreadConstraints"] == expected
    normal.assert_equal(
        {"tfgen": rendered.by_tfgen("dev"), "kustomize": by_kustomize, "our reading": rendered.by_our_reading("dev")}
    )


def test_a_patch_that_does_not_replace_such_a_list_is_read_as_kustomize_reads_it(tmp_path):
    """An older tfgen wrote such patches, and the committed patches remain."""
    constraints = {"a": {**spread("a"), "maxSkew": 2}, "c": spread("c"), "b": {"$patch": "delete", **spread("b")}}
    files = {
        "base/kustomization.yaml": {"resources": ["pod.yaml"]},
        "base/pod.yaml": pod([spread("b"), spread("d"), spread("a")]),
        "dev/kustomization.yaml": {"resources": ["../base"], "patches": [{"path": "pod.patch.yaml"}]},
        "dev/pod.patch.yaml": pod(list(constraints.values())),
    }
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(dump(data), encoding="utf-8")
    by_kustomize = normal.read(tools.kustomize_build(tmp_path / "dev"))
    assert list(by_kustomize.values()) == [pod([constraints["c"], spread("d"), constraints["a"]])]
    assert normal.by_identity(build_objects({path: dump(data) for path, data in files.items()}, "dev")) == by_kustomize


def pod(constraints: Sequence[Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod"},
        "spec": {"topologySpreadConstraints": constraints},
    }


PLACES = {"ObjectMeta": ("podTemplate", "metadata"), "PodSpec": ("podTemplate", "spec"), "Container": ("sidecars",)}
THE_JOBS_OWN = ("imagePullSecrets", "topologySpreadConstraints")
"""Lists that a podTemplate may not have, because the job has a key for the list."""
LISTS = [(owner, field) for owner in PLACES for field in kubernetes_fields.types()[owner].keys]


@pytest.mark.parametrize(("owner", "field"), LISTS)
def test_a_list_with_keys_is_carried_in_its_order(owner, field, tmp_path):
    data = saying(owner, field, [item(owner, field, name) for name in "ba"])
    errors = [problem for problem in check(json.dumps(data), "job.yaml").problems if problem.severity == "error"]
    if field in THE_JOBS_OWN:
        assert {problem.rule for problem in errors} == {"controlled-field"}
    else:
        assert errors == []
        rendered = Rendered.write(data, tmp_path)
        normal.assert_equal({"tfgen": rendered.by_tfgen("dev"), "kustomize": rendered.by_kustomize("dev")})


@pytest.mark.parametrize(("owner", "field"), LISTS)
def test_items_that_kustomize_would_take_for_one_are_refused(owner, field):
    assert has_errors(check(json.dumps(saying(owner, field, [item(owner, field, "a")] * 2)), "job.yaml").problems)


@pytest.mark.parametrize(("owner", "field"), LISTS)
def test_an_item_that_kustomize_would_drop_is_refused(owner, field):
    assert has_errors(check(json.dumps(saying(owner, field, [{}])), "job.yaml").problems)


def saying(owner: str, field: str, items: Sequence[Any]) -> Document:
    """Return a job whose pods have a list with these items, and differ in an environment."""
    outer, *inner = PLACES[owner]
    said = {inner[0]: {field: items}} if inner else [{"name": "log", "image": "log:1", field: items}]
    storage = {name: {"mountPath": f"/{name}", "emptyDir": {}} for name in "ab"}
    return document({outer: said, "storage": {} if inner else storage}, {"env": {"A": "1"}})


def item(owner: str, field: str, name: str) -> Any:
    """Return the smallest valid item of a list, with a name."""
    found = kubernetes_fields.types()[owner]
    return least(found.fields[field][1:-1], found.keys[field], name)


def least(kind: str, keys: Sequence[str], name: str) -> Any:
    if kind not in kubernetes_fields.types():
        return {"integer": ord(name), "boolean": True}.get(kind, name)
    found = kubernetes_fields.types()[kind]
    return {field: least(found.fields[field], (), name) for field in sorted({*found.required, *keys})}


ORDERS = ("A", "B", "AB", "BA", "ABC", "CAB", "ACB", "xABC", "AxBC", "ABCx", "BxA", "xCy", "aBC", "AbC", "bA", "Cx")


def variables(word: str) -> Sequence[Mapping[str, str]]:
    """Return a variable for each letter. The case of the letter is part of the value, and an x has no value."""
    return [{"name": letter.upper()} | ({} if letter == "x" else {"value": letter}) for letter in word]


def test_kustomize_leaves_what_a_patch_does_not_name_behind_what_it_names(tmp_path):
    pairs = {f"pod-{number}": pair for number, pair in enumerate(permutations(ORDERS, 2))}
    before, after = ({name: with_variables(name, pair[side]) for name, pair in pairs.items()} for side in (0, 1))
    patches = [{**item, **strategic_merge_patch(item, after[name])} for name, item in before.items()]
    (tmp_path / "kustomization.yaml").write_text("resources: [pods.yaml]\npatches: [{path: patch.yaml}]\n")
    (tmp_path / "pods.yaml").write_text(documents(before.values()))
    (tmp_path / "patch.yaml").write_text(documents(patches))
    pods = normal.read(tools.kustomize_build(tmp_path)).values()
    assert {item["metadata"]["name"]: item for item in pods} == after


def with_variables(name: str, word: str) -> dict[str, Any]:
    containers = [{"name": "a", "env": variables(word)}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers}}
