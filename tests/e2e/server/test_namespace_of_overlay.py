"""The namespace of an overlay: `kubectl apply -k` without `-n` reaches the namespace that the job names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.control_plane import ControlPlane
from tests.e2e.custom_kinds import stand_in
from tests.e2e.jobs import write_job
from tests.support.command import Command

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist, namespace: of-job}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  objects:
    zone: {apiVersion: example.com/v1, kind: Zone, metadata: {name: zone}, spec: {size: 1}}
    quota: {apiVersion: v1, kind: ResourceQuota, spec: {hard: {pods: "20"}}}
  environments:
    dev: {namespace: of-dev, run: "2"}
    prod: {roles: {worker: {replicas: 3}}}
"""
ENVIRONMENTS = {None: "of-job", "dev": "of-dev", "prod": "of-job"}
"""The namespace of each environment in the text of the job, and of the base under None."""


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_kubectl_applies_an_overlay_to_its_namespace(
    cluster: ControlPlane, namespace: str, tmp_path: Path, environment: str | None
) -> None:
    zones = stand_in("example.com", "Zone", ["v1"])
    cluster.install([{**zones, "spec": {**zones["spec"], "scope": "Cluster"}}])
    job = write_job(JOB.replace(ENVIRONMENTS[environment], namespace), tmp_path, is_in_test_namespace=False)
    run = "mnist-2" if environment == "dev" else "mnist"
    try:
        for option in ("--server-side", "--server-side=false"):
            cluster.kubectl("apply", option, "-k", job.overlay(environment))
            assert cluster.client.get("StatefulSet", f"{run}-worker", namespace)
            assert cluster.client.get("ResourceQuota", "mnist-quota", namespace)
            # The server drops the namespace that kustomize writes into an object of a cluster-wide custom kind.
            assert "namespace" not in cluster.client.get("Zone", "zone")["metadata"]
            (subject,) = cluster.client.get("RoleBinding", f"{run}-finisher", namespace)["subjects"]
            assert subject == {"kind": "ServiceAccount", "name": f"{run}-finisher", "namespace": namespace}
            cluster.kubectl("delete", "-k", job.overlay(environment))
            assert cluster.client.find("StatefulSet", f"{run}-worker", namespace) is None
    finally:
        cluster.uninstall()


def test_kubectl_applies_printed_objects_to_their_namespace(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB.replace("of-job", namespace).replace("    zone:", "#   zone:"), encoding="utf-8")
    printed = Command((sys.executable, "-m", "tfgen", "render", file, "--stdout", "--env", "prod")).run()
    cluster.kubectl("apply", "-f", "-", stdin=printed)
    assert cluster.client.get("StatefulSet", "mnist-worker", namespace)["spec"]["replicas"] == 3
