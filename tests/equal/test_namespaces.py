"""The namespace of an overlay in kustomize's output: objects of a job, a new run, a retired environment."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.support.rendered import Rendered
from tests.support.tools import kustomize_build
from tfgen.check.jobs import check
from tfgen.kubernetes.object import CLUSTER_KINDS, NAMESPACED_BY_KUSTOMIZE

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
def test_overlay_has_the_namespace_of_its_environment(rendered: Rendered, environment: str | None) -> None:
    rendered.assert_equal(environment)
    objects = rendered.by_kustomize(environment).values()
    placed = {item["kind"]: item["metadata"].get("namespace") for item in objects}
    assert placed.pop("PriorityClass") is None
    assert placed.pop("ClusterIssuer") is None
    assert set(placed.values()) == {NAMESPACES[environment]}


@pytest.mark.parametrize("environment", ["dev", None])
def test_overlay_removes_the_namespace_of_a_cluster_scoped_object(rendered: Rendered, environment: str | None) -> None:
    text = (rendered.overlay(environment) / "kustomization.yaml").read_text(encoding="utf-8")
    assert text.endswith(
        """\
transformers:
- |-
  apiVersion: builtin
  kind: PatchTransformer
  metadata:
    name: cluster-scoped
  target:
    group: cert-manager.io
    kind: ClusterIssuer
  patch: |-
    - op: remove
      path: /metadata/namespace
"""
    )


def test_kustomize_adds_a_namespace_to_some_cluster_scoped_kinds(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("namespace: ml\nresources: [objects.yaml]\n", encoding="utf-8")
    # kustomize knows a kind by its API group and version.
    groups = {
        "v1": "Namespace Node PersistentVolume",
        "apiextensions.k8s.io/v1": "CustomResourceDefinition",
        "apiregistration.k8s.io/v1": "APIService",
        "certificates.k8s.io/v1": "CertificateSigningRequest",
        "flowcontrol.apiserver.k8s.io/v1": "FlowSchema PriorityLevelConfiguration",
        "networking.k8s.io/v1": "IngressClass",
        "node.k8s.io/v1": "RuntimeClass",
        "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding",
        "resource.k8s.io/v1": "DeviceClass",
        "scheduling.k8s.io/v1": "PriorityClass",
        "storage.k8s.io/v1": "CSIDriver StorageClass VolumeAttributesClass",
    }
    versions = {kind: version for version, kinds in groups.items() for kind in kinds.split()}
    objects = [
        {"apiVersion": versions.get(kind, "admissionregistration.k8s.io/v1"), "kind": kind, "metadata": {"name": "a"}}
        for kind in sorted(CLUSTER_KINDS)
    ]
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    built = yaml.safe_load_all(kustomize_build(tmp_path))
    assert {item["kind"] for item in built if "namespace" in item["metadata"]} == NAMESPACED_BY_KUSTOMIZE


def test_chart_has_no_namespace(rendered: Rendered) -> None:
    objects = rendered.by_helm().values()
    assert {item["metadata"].get("namespace") for item in objects} == {None}


def test_overlay_of_a_retired_environment_is_empty(rendered: Rendered, tmp_path: Path) -> None:
    assert "namespace: ml-old\n" in (rendered.overlay("old") / "kustomization.yaml").read_text(encoding="utf-8")
    assert kustomize_build(rendered.overlay("old")).strip() == ""
