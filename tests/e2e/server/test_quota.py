"""A quota that has too few places: the finisher has its pod before the tasks.

Helm, Argo CD and Flux have an order of kinds, in which a StatefulSet comes before a Job (docs/runs.md#how-it-ends).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.client import Client, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.jobs import write_job
from tests.e2e.ways import kubectl
from tests.support.command import Command
from tests.support.rendered import Rendered
from tests.support.tools import kustomize_program
from tfgen import cli

pytestmark = pytest.mark.xdist_group("quota")  # the tests share a cluster

PLACES = 3
JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist, namespace: NAMESPACE}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  startDeadline: 45
"""


def tfgen_apply(cluster: ControlPlane, job: Rendered, namespace: str) -> str:
    file = job.out / "job.yaml"
    file.write_text(JOB.replace("NAMESPACE", namespace), encoding="utf-8")
    assert cli.run(["apply", str(file), "--kubeconfig", str(cluster.admin)]) == cli.OK
    return ""


def kustomize_build(cluster: ControlPlane, job: Rendered, namespace: str) -> str:
    built = Command((kustomize_program(), "build", job.overlay(None))).run()
    return cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=built)


WAYS = {
    "kubectl-apply": kubectl(),
    "kustomize-build": kustomize_build,
    "tfgen-apply": tfgen_apply,
}


@pytest.mark.parametrize("way", WAYS)
def test_the_finisher_has_a_place_of_a_small_quota(
    cluster: ControlPlane, namespace: str, tmp_path: Path, way: str
) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}}
    cluster.client.create({**quota, "spec": {"hard": {"pods": str(PLACES)}}}, namespace)
    eventually(
        lambda: cluster.client.get("ResourceQuota", "small", namespace).get("status", {}).get("hard"), "the quota"
    )
    WAYS[way](cluster, write_job(JOB.replace("NAMESPACE", namespace), tmp_path), namespace)
    pods = eventually(lambda: full(cluster.client, namespace), "as many pods as the quota has places")
    assert "finisher" in pods


def full(client: Client, namespace: str) -> list[str]:
    pods = client.list("v1/Pod", namespace)
    roles = sorted(pod["metadata"]["labels"]["tfgen/role"] for pod in pods)
    return roles if len(roles) == PLACES else []
