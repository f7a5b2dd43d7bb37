"""The values at which kustomize stops while it searches for names of objects. `tfgen check` reports the same values.

The kinds are custom kinds with the names of Kubernetes' kinds, because kustomize reads most fields in every API group.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tests.rules.test_wrong_shape import PLACES, nested, problems
from tests.support import normal
from tests.support.command import CommandError
from tests.support.draws import drawn
from tests.support.generated import accepted
from tests.support.rendered import Rendered
from tests.support.tools import kustomize_build
from tfgen.check.jobs import check

VALUES: list[Any] = ["text", 1, ["text"], [["text"]], {"a": 1}, [{"a": 1}], {"name": "text"}, {"name": ["text"]}]


def custom(kind: str, path: str, value: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": kind.split()[1], **nested(path, value)}


def builds(item: dict[str, Any], folder: Path) -> bool:
    """Test whether kustomize builds an object in a namespace."""
    named = {**item, "metadata": {"name": "a"}}
    (folder / "item.yaml").write_text(yaml.safe_dump(named), encoding="utf-8")
    (folder / "kustomization.yaml").write_text("namespace: ml\nresources: [item.yaml]\n", encoding="utf-8")
    try:
        kustomize_build(folder)
    except CommandError:
        return False
    return True


@pytest.mark.long
@drawn(40)
@given(place=st.sampled_from(PLACES), value=st.sampled_from(VALUES))
@example(place=("batch/v1 CronJob", "spec"), value="text")
@example(place=("apps/v1 Deployment", "spec/template"), value="text")
@example(place=("rbac.authorization.k8s.io/v1 RoleBinding", "subjects"), value={"a": 1})
@example(place=("rbac.authorization.k8s.io/v1 ClusterRoleBinding", "subjects"), value=["text"])
@example(place=("rbac.authorization.k8s.io/v1 Role", "rules/resourceNames"), value=[["text"]])
@example(place=("rbac.authorization.k8s.io/v1 Role", "rules/resourceNames"), value={"a": 1})
@example(place=("networking.k8s.io/v1 Ingress", "spec/tls/secretName"), value={"name": "text"})
def test_check_refuses_a_custom_object_if_kustomize_stops(place: tuple[str, str], value: Any) -> None:
    item = custom(*place, value)
    with tempfile.TemporaryDirectory() as folder:
        assert (problems(item) == []) == builds(item, Path(folder)), json.dumps(item)


@pytest.mark.parametrize(
    "item",
    [
        {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": {"backend": "text"}},
        {"apiVersion": "v1", "kind": "Node", "spec": {"configSource": "text"}},
        {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "parameters": {"secretRef": {"a": "text"}}},
    ],
    ids=lambda item: item["kind"],
)
def test_field_of_an_old_version_is_refused(item: dict[str, Any], tmp_path: Path) -> None:
    assert not builds(item, tmp_path)
    assert problems(item)


def job_with(objects: dict[str, Any]) -> dict[str, Any]:
    spec = {
        "image": "registry.ml.internal/ml/mnist:1",
        "roles": {"chief": {}, "ps": {}, "worker": {"replicas": 2}},
        "objects": objects,
        "environments": {"prod": {"image": "registry.ml.internal/ml/mnist:2", "run": "2"}},
    }
    metadata = {"name": "mnist", "namespace": "ml"}
    return {"apiVersion": "tfgen/v1alpha1", "kind": "TrainingJob", "metadata": metadata, "spec": spec}


def refused(objects: dict[str, Any]) -> set[str]:
    """Return the names of the objects that have a problem."""
    problems = check(json.dumps(job_with(objects)).encode(), "job.yaml").problems
    return {name for problem in problems for name in re.findall(r"\bobjects\.(x\d+)\b", problem.message)}


@pytest.mark.long
def test_kustomize_builds_all_accepted_objects(tmp_path: Path) -> None:
    drafts = [custom(*place, value) for place in PLACES for value in ("text", [["text"]], {"a": 1})]
    objects = {f"x{number}": item for number, item in enumerate(drafts)}
    names = [*objects]
    for start in range(0, len(names), 20):  # a check reports the first 100 problems
        for name in refused({name: objects[name] for name in names[start : start + 20]}):
            del objects[name]
    assert 200 < len(objects) < len(names) - 200
    job = job_with(objects)
    assert accepted(job)
    rendered = Rendered.write(job, tmp_path)
    outputs = {"tfgen": rendered.by_tfgen("prod"), "kustomize": rendered.by_kustomize("prod")}
    normal.assert_equal({name: normal.in_namespace(items, "ml") for name, items in outputs.items()})
