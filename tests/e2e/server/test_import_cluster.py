"""`tfgen import --cluster` converts live objects to the same job as their manifests."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.e2e.client import ApiError, Object
from tests.e2e.control_plane import ControlPlane
from tests.e2e.custom_kinds import definitions
from tests.support.tools import ROOT
from tfgen import cli

CASES = ROOT / "tests" / "importers"
TASKS = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: resnet-ps}
spec:
  serviceName: resnet
  replicas: 2
  selector: {matchLabels: {app: resnet-ps}}
  template:
    metadata: {labels: {app: resnet-ps}}
    spec:
      containers:
      - name: ps
        image: registry.example.com/resnet:1
        command: [python, train.py]
        ports: [{containerPort: 2222}]
        livenessProbe: {tcpSocket: {port: 2222}}
        env:
        - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - name: TF_CONFIG
          value: '{"cluster": {"ps": ["a:2222"], "worker": ["b:2222"]}, "task": {"type": "ps", "index": 0}}'
        resources: {limits: {cpu: 1}}
        volumeMounts: [{name: settings, mountPath: /etc/resnet}]
      volumes: [{name: settings, configMap: {name: settings}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: resnet-worker}
spec:
  completions: 2
  parallelism: 2
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: worker
        image: registry.example.com/resnet:latest
        command: [python, train.py]
        env:
        - name: TF_CONFIG
          value: '{"cluster": {"worker": ["b:2222"]}, "task": {"type": "worker", "index": $(JOB_COMPLETION_INDEX)}}'
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.com/web:1"}]}
"""


def _manifest(case: str) -> str:
    return (CASES / case / "manifest.yaml").read_text(encoding="utf-8") if case else TASKS


@pytest.mark.parametrize("case", ["tfjob-v1", "volcano-tf-config", "jobset", ""])
def test_a_live_job_is_imported_as_its_manifest(
    case: str, cluster: ControlPlane, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = [item for item in yaml.safe_load_all(_manifest(case)) if item]
    _apply(cluster, objects, namespace)
    kept = [item for item in objects if item["metadata"]["name"] != "web"]
    (tmp_path / "manifest.yaml").write_text(yaml.safe_dump_all(kept), encoding="utf-8")
    of_manifest = _import(capsys, str(tmp_path / "manifest.yaml"))
    of_cluster = _import(capsys, "--cluster", "--kubeconfig", str(cluster.admin), "-n", namespace)
    assert {**of_cluster, "metadata": {**of_cluster["metadata"], "namespace": ""}} == {
        **of_manifest,
        "metadata": {**of_manifest["metadata"], "namespace": ""},
    }
    assert of_cluster["metadata"]["namespace"] == namespace


def test_what_is_no_job_of_the_namespace_is_said(
    cluster: ControlPlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _apply(cluster, [*yaml.safe_load_all(TASKS)][2:], namespace)
    place = ["--kubeconfig", str(cluster.admin), "-n", namespace]
    assert cli.run(["import", *place, "--cluster"]) == 2
    error = capsys.readouterr().err
    assert "omitted, because these objects do not configure a TensorFlow cluster: deployment/web\n" in error
    assert f"the namespace {namespace} has no job that tfgen can import" in error
    assert cli.run(["import", *place, "--cluster", "tfjob/mnist"]) == 2
    assert f"tfjob/mnist: the namespace {namespace} has no such job" in capsys.readouterr().err


def _import(capsys: pytest.CaptureFixture[str], *args: str) -> Object:
    capsys.readouterr()
    assert cli.run(["import", *args]) == 0, capsys.readouterr().err
    job: Object = yaml.safe_load(capsys.readouterr().out)
    return job


def _apply(cluster: ControlPlane, objects: list[Object], namespace: str) -> None:
    known = [item for item in objects if "." in item["apiVersion"].partition("/")[0]]
    cluster.install(definitions(cluster.client, known))
    for item in objects:
        try:
            cluster.client.apply({**item, "metadata": {**item["metadata"], "namespace": namespace}}, namespace)
        except ApiError as error:
            pytest.fail(f"{item['kind']}: {error}")
