"""Restart rules of containers: a real API server keeps the rules in the pods of a real Job."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.client import eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.jobs import write_job

JOB = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/mnist:1
  strategy: MultiWorkerMirrored
  restart: {inPlace: true, ignoreExitCodes: [42, 143]}
  roles: {worker: {replicas: 2}}
"""


def test_the_pods_of_a_job_keep_the_rules(cluster: ControlPlane, namespace: str, tmp_path: Path) -> None:
    overlay = write_job(JOB, tmp_path / "out").overlay(None)
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", overlay)

    def workers() -> list[dict[str, object]]:
        listed = cluster.client.list("v1/Pod", namespace, labels="tfgen/role=worker")
        return [pod for pod in listed if pod["status"].get("phase") == "Running"]

    eventually(lambda: len(workers()) == 2, "two workers")
    for pod in cluster.client.list("v1/Pod", namespace, labels="tfgen/role=worker"):
        (container,) = pod["spec"]["containers"]
        rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42, 143]}}
        assert (container["restartPolicy"], container["restartPolicyRules"]) == ("Never", [rule])
        assert pod["spec"]["restartPolicy"] == "Never"
    policy = cluster.client.get("batch/v1/Job", "mnist-worker", namespace)["spec"]["podFailurePolicy"]
    assert policy["rules"][1]["onExitCodes"]["values"] == [42, 143]
