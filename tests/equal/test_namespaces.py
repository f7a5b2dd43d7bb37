"""The namespace of an overlay in kustomize's output: objects of a job, a new run, a retired environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rendered import Rendered
from tests.support.tools import kustomize_build
from tfgen.check.jobs import check

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist, namespace: ml}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  objects:
    quota: {apiVersion: v1, kind: ResourceQuota, spec: {hard: {pods: "20"}}}
    class: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 1}
    issuer: {apiVersion: cert-manager.io/v1, kind: ClusterIssuer, spec: {selfSigned: {}}}
    readers:
      apiVersion: rbac.authorization.k8s.io/v1
      kind: RoleBinding
      roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
      subjects:
      - {kind: ServiceAccount, name: default}
      - {kind: ServiceAccount, name: a, namespace: b}
      - {kind: Group, name: c, apiGroup: rbac.authorization.k8s.io}
  environments:
    dev: {namespace: ml-dev, run: "2", roles: {worker: {replicas: 3}}, objects: {quota: {spec: {hard: {pods: "5"}}}}}
    prod: {image: registry.example.com/ml/mnist:1.5.0}
    old: {namespace: ml-old, enabled: false}
"""
NAMESPACES = {None: "ml", "dev": "ml-dev", "prod": "ml"}


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    (document,) = check(JOB, "job.yaml").documents
    return Rendered.write(document.data, tmp_path_factory.mktemp("job"))


@pytest.mark.parametrize("environment", NAMESPACES)
def test_an_overlay_has_the_namespace_of_its_environment(rendered: Rendered, environment: str | None) -> None:
    rendered.assert_equal(environment)
    objects = rendered.by_kustomize(environment).values()
    placed = {item["kind"]: item["metadata"].get("namespace") for item in objects}
    assert placed.pop("PriorityClass") is None
    assert set(placed.values()) == {NAMESPACES[environment]}


def test_the_chart_has_no_namespace(rendered: Rendered) -> None:
    objects = rendered.by_helm().values()
    assert {item["metadata"].get("namespace") for item in objects} == {None}


def test_the_overlay_of_a_retired_environment_is_empty(rendered: Rendered, tmp_path: Path) -> None:
    assert "namespace: ml-old\n" in (rendered.overlay("old") / "kustomization.yaml").read_text(encoding="utf-8")
    assert kustomize_build(rendered.overlay("old")).strip() == ""
