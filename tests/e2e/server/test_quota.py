"""A job in a namespace with a quota: the pods that the quota admits.

`tfgen apply` and kubectl create the finisher before the tasks. Helm, Argo CD and Flux sort by kind, so the quota must
leave a place for the finisher (docs/runs.md#how-it-ends).
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml

from tests.e2e.client import Client, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.jobs import write_job
from tests.e2e.ways import WAYS as ALL_WAYS
from tests.e2e.ways import helm, kubectl
from tests.support.command import Command
from tests.support.rendered import Rendered
from tests.support.repository import tfgen
from tests.support.tools import helm_program, kustomize_program
from tfgen import cli

nightly = pytest.mark.nightly

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
    tfgen("apply", str(file), "--kubeconfig", str(cluster.admin))
    return ""


def kustomize_build(cluster: ControlPlane, job: Rendered, namespace: str) -> str:
    built = Command((kustomize_program(), "build", job.overlay(None))).run()
    return cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=built)


WAYS = {
    "kubectl-apply": kubectl(),
    "kustomize-build": kustomize_build,
    "tfgen-apply": tfgen_apply,
}


@pytest.mark.parametrize("way", ["kubectl-apply", pytest.param("kustomize-build", marks=nightly), "tfgen-apply"])
def test_the_finisher_has_a_place_of_a_small_quota(
    cluster: ControlPlane, namespace: str, tmp_path: Path, way: str
) -> None:
    limit(cluster.client, namespace, pods=PLACES)
    WAYS[way](cluster, write_job(JOB.replace("NAMESPACE", namespace), tmp_path), namespace)
    pods = eventually(lambda: full(cluster.client, namespace), "as many pods as the quota has places")
    assert "finisher" in pods


@pytest.mark.parametrize(
    "way",
    [pytest.param(way, marks=[] if way in ("kubectl-apply", "helm-upgrade") else nightly) for way in ALL_WAYS],
)
def test_a_quota_with_the_documented_room_has_a_place_for_each_pod(
    cluster: ControlPlane, namespace: str, tmp_path: Path, way: str
) -> None:
    """Five pods: four tasks with 1 CPU and 1Gi, and the finisher with 100m CPU and 128Mi."""
    room = {"requests.cpu": "4100m", "limits.cpu": "4100m", "requests.memory": "4224Mi", "limits.memory": "4224Mi"}
    limit(cluster.client, namespace, pods=5, **{"count/jobs.batch": 2}, **room)
    job = yaml.safe_load(JOB.replace("NAMESPACE", namespace))
    for role in job["spec"]["roles"].values():
        role["resources"] = {"cpu": 1, "memory": "1Gi"}
    ALL_WAYS[way](cluster, write_job(yaml.safe_dump(job), tmp_path), namespace)
    eventually(lambda: len(roles(cluster.client, namespace)) == 5, "a pod for each task and for the finisher")


def test_helm_creates_the_stateful_sets_before_the_finisher(tmp_path: Path) -> None:
    """Helm sorts by kind, and a chart cannot change this order."""
    chart = write_job(JOB.replace("NAMESPACE", "ml"), tmp_path).chart
    text = Command((helm_program(), "template", "--skip-tests", "mnist", chart)).run()
    kinds = [obj["kind"] for obj in yaml.safe_load_all(text) if obj]
    assert kinds[-4:] == ["StatefulSet", "StatefulSet", "Job", "Job"]


def test_a_finisher_in_a_full_quota_is_named_and_the_run_is_released_by_hand(
    cluster: ControlPlane, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tasks have all places before Helm creates the finisher, which is the worst case of Helm's order."""
    limit(cluster.client, namespace, pods=PLACES)
    text = JOB.replace("NAMESPACE", namespace)
    alone = write_job(text.replace("startDeadline: 45", "completion: {release: Keep}"), tmp_path / "alone")
    helm()(cluster, alone, namespace)
    eventually(lambda: full(cluster.client, namespace), "tasks in all places of the quota")
    helm()(cluster, write_job(text.replace("45", "5"), tmp_path / "job"), namespace)
    file = tmp_path / "job.yaml"
    file.write_text(text, encoding="utf-8")
    options = [str(file), "--kubeconfig", str(cluster.admin)]

    def why() -> list[str]:
        cli.run(["status", *options])
        return [line for line in capsys.readouterr().out.splitlines() if line.startswith("why:")]

    eventually(lambda: any("finisher: FailedCreate" in line and "quota: small" in line for line in why()), "the reason")
    time.sleep(6)  # more than the start deadline
    assert "finisher" not in full(cluster.client, namespace)
    assert cli.run(["release", *options]) == cli.OK
    eventually(lambda: roles(cluster.client, namespace) == [], "the end of all pods")


def limit(client: Client, namespace: str, **hard: int | str) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}}
    client.create({**quota, "spec": {"hard": {name: str(value) for name, value in hard.items()}}}, namespace)
    eventually(lambda: client.get("ResourceQuota", "small", namespace).get("status", {}).get("hard"), "the quota")


def roles(client: Client, namespace: str) -> list[str]:
    return sorted(pod["metadata"]["labels"]["tfgen/role"] for pod in client.list("v1/Pod", namespace))


def full(client: Client, namespace: str) -> list[str]:
    present = roles(client, namespace)
    return present if len(present) == PLACES else []
