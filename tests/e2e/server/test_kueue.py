"""`tfgen status` and `tfgen release` of a run in a queue of Kueue, with the Roles of docs/live.md.

The API server is real, and the test writes the Workload in place of Kueue. If Kueue is built on this machine,
test_operators.py runs the same commands with Kueue.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.custom_kinds import stand_in
from tests.e2e.jobs import write_job
from tests.e2e.server.live import role
from tfgen import cli

JOB = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist, namespace: NAMESPACE}
spec:
  image: registry.example.com/mnist:1
  strategy: MultiWorkerMirrored
  gang: {scheduler: kueue, queue: research}
  roles: {worker: {replicas: 2}}
"""
VERSION = "kueue.x-k8s.io/v1beta2"


@pytest.fixture
def job(cluster: ControlPlane, namespace: str, tmp_path: Path) -> Path:
    """Apply a job, and suspend its object like Kueue."""
    cluster.install([stand_in("kueue.x-k8s.io", "Workload", ["v1beta2"])])
    path = tmp_path / "job.yaml"
    path.write_text(JOB.replace("NAMESPACE", namespace), encoding="utf-8")
    rendered = write_job(path.read_text(encoding="utf-8"), tmp_path / "rendered")
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", rendered.overlay(None))
    cluster.client.patch("Job", "mnist-worker", namespace, {"spec": {"suspend": True}})
    return path


def workload(cluster: ControlPlane, namespace: str, condition: dict[str, str]) -> Object:
    """Create the Workload of the job, with Kueue's name and labels."""
    uid = cluster.client.get("Job", "mnist-worker", namespace)["metadata"]["uid"]
    status: dict[str, Any] = {"conditions": [condition]}
    item = {
        "apiVersion": VERSION,
        "kind": "Workload",
        "metadata": {"name": "job-mnist-worker-1", "labels": {"kueue.x-k8s.io/job-uid": uid}},
        "spec": {"active": True, "queueName": "research"},
    }
    cluster.client.apply(item, namespace)
    cluster.kubectl(
        "patch",
        "workload",
        "job-mnist-worker-1",
        "-n",
        namespace,
        "--subresource=status",
        "--type=merge",
        "-p",
        json.dumps({"status": status}),
    )
    return item


def test_the_status_is_the_reason_of_the_workload(
    cluster: ControlPlane, job: Path, namespace: str, account: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    message = "LocalQueue research doesn't exist"
    workload(
        cluster, namespace, {"type": "QuotaReserved", "status": "False", "reason": "Inadmissible", "message": message}
    )
    assert cli.run(["status", str(job), "--kubeconfig", str(account(role("status")))]) == cli.OK
    shown = capsys.readouterr().out
    assert ": Suspended for" in shown
    assert f"why:      queue research: Inadmissible: {message}\n" in shown


def test_a_release_deactivates_the_workload(
    cluster: ControlPlane, job: Path, namespace: str, account: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.client.patch("Job", "mnist-worker", namespace, {"spec": {"suspend": False}})
    workload(cluster, namespace, {"type": "Admitted", "status": "True", "reason": "Admitted", "message": ""})
    arguments = ["release", str(job), "--kubeconfig", str(account(role("release")))]
    assert cli.run(arguments) == cli.OK
    assert capsys.readouterr().out == "Job mnist-worker released\n"
    assert cluster.client.get(f"{VERSION}/Workload", "job-mnist-worker-1", namespace)["spec"]["active"] is False
    assert cluster.client.get("Job", "mnist-worker", namespace)["spec"]["suspend"] is False  # Kueue suspends the Job
    assert cli.run(arguments) == cli.OK
    assert capsys.readouterr().out == "Job mnist-worker already released\n"


def test_a_release_without_a_workload_is_refused(
    cluster: ControlPlane, job: Path, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = eventually(lambda: cluster.client.get("Job", "mnist-worker", namespace)["spec"], "the job")
    assert cli.run(["release", str(job), "--kubeconfig", str(cluster.admin)]) == cli.FAILED
    error = capsys.readouterr().err
    assert "mnist: Job mnist-worker is in the queue research, but the cluster has no Workload for the object" in error
    assert "tfgen delete JOB" in error
    assert cluster.client.get("Job", "mnist-worker", namespace)["spec"] == before
