"""High-priority pods evict low-priority workers, and the workers return when GPUs are free.

Fake nodes show the pods only; tests/e2e/node/test_preemption.py shows the training. Here, a worker returns with its
same name and index, the end of the chief still ends the job, and an eviction by the scheduler is no failure. No other
pod has a place on the nodes of these tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.client import Client, Object, eventually
from tests.e2e.control_plane import ControlPlane, fake_node
from tests.e2e.jobs import write_job
from tests.e2e.kubelet import end, environment

SERVING = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/mnist:1
  priorityClassName: low
  priorityClasses: {low: {value: 1}}
  nodeSelector: {preemption: tested}
  tolerations: [{key: preemption, operator: Exists}]
  roles:
    chief: {resources: {cpu: 1}}
    ps: {replicas: 1, resources: {cpu: 1}}
    worker: {replicas: 4, resources: {cpu: 1, gpu: {count: 1}}}
"""

IN_STEP = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  strategy: MultiWorkerMirrored
  image: registry.example.com/mnist:1
  retries: 0
  priorityClassName: low
  priorityClasses: {low: {value: 1}}
  nodeSelector: {preemption: tested}
  tolerations: [{key: preemption, operator: Exists}]
  roles:
    worker: {replicas: 4, resources: {cpu: 1, gpu: {count: 1}}}
"""

URGENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "urgent"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "urgent"}},
        "template": {
            "metadata": {"labels": {"app": "urgent"}},
            "spec": {
                "priorityClassName": "high",
                "nodeSelector": {"preemption": "tested"},
                "tolerations": [{"key": "preemption", "operator": "Exists"}],
                "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.example.com/serving:1",
                        "resources": {"limits": {"nvidia.com/gpu": 1}},
                        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                    }
                ],
            },
        },
    },
}

HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}


@pytest.fixture
def place(cluster: ControlPlane, namespace: str) -> Iterator[str]:
    """Add two nodes with two GPUs each for the pods of a test, and return the namespace of the test."""
    nodes = [fake_node(f"preemption-{number}", gpus=2) for number in range(2)]
    for node in nodes:
        node["metadata"]["labels"]["preemption"] = "tested"
        node["spec"] = {"taints": [{"key": "preemption", "effect": "NoSchedule"}]}
    cluster.client.apply(HIGH)
    cluster.add_nodes(nodes)
    yield namespace
    cluster.kubectl("delete", "statefulsets,jobs,deployments", "--all", "-n", namespace)
    eventually(lambda: not cluster.client.list("Pod", namespace), "no pod")
    for node in nodes:
        cluster.client.delete("Node", node["metadata"]["name"])
    for name in ("high", "low"):
        cluster.client.delete("PriorityClass", name)


@pytest.mark.nightly
def test_preemption_of_workers_that_serve(cluster: ControlPlane, place: str, tmp_path: Path) -> None:
    client = cluster.client
    _start(cluster, SERVING, place, tmp_path)
    eventually(lambda: _running_workers(client, place) == [0, 1, 2, 3], "all workers")
    others = {pod["metadata"]["uid"] for pod in _pods(client, place, "chief") + _pods(client, place, "ps")}

    client.create(URGENT, place)
    eventually(lambda: client.get("Deployment", "urgent", place)["status"].get("readyReplicas") == 2, "the urgent pods")
    eventually(lambda: len(_pods(client, place, "worker")) == 4, "the workers that wait")
    eventually(lambda: len(_running_workers(client, place)) == 2, "two workers on the GPUs that are left")
    assert {pod["metadata"]["uid"] for pod in _pods(client, place, "chief") + _pods(client, place, "ps")} == others

    client.delete("Deployment", "urgent", place)
    eventually(lambda: _running_workers(client, place) == [0, 1, 2, 3], "all workers again")
    for index, pod in enumerate(_pods(client, place, "worker")):
        assert environment(client, pod)["TASK_INDEX"] == str(index)

    (chief,) = _pods(client, place, "chief")
    end(client, chief)
    eventually(lambda: client.get("Job", "mnist-chief", place)["status"].get("succeeded") == 1, "the chief's end")
    assert client.get("Job", "mnist-chief", place)["status"].get("failed", 0) == 0


def test_preemption_of_workers_in_step(cluster: ControlPlane, place: str, tmp_path: Path) -> None:
    """The workers are pods of a Job that allows no failure: an eviction by the scheduler is no failure."""
    client = cluster.client
    _start(cluster, IN_STEP, place, tmp_path)
    eventually(lambda: _running_workers(client, place) == [0, 1, 2, 3], "all workers")

    client.create(URGENT, place)
    eventually(lambda: client.get("Deployment", "urgent", place)["status"].get("readyReplicas") == 2, "the urgent pods")
    eventually(lambda: len(_running_workers(client, place)) == 2, "two workers on the GPUs that are left")

    client.delete("Deployment", "urgent", place)
    eventually(lambda: _running_workers(client, place) == [0, 1, 2, 3], "all workers again")
    status = client.get("Job", "mnist-worker", place)["status"]
    assert status.get("failedIndexes", "") == ""
    assert not [each for each in status.get("conditions", ()) if each["type"].startswith("Fail")]

    # Worker 0 ends last, because the Job then ends and deletes the pods of all other workers.
    for pod in reversed(_pods(client, place, "worker")):
        end(client, pod)
    eventually(lambda: client.get("Job", "mnist-worker", place)["status"].get("succeeded") == 4, "the job's end")


def _start(cluster: ControlPlane, text: str, namespace: str, folder: Path) -> None:
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", write_job(text, folder).overlay(None))


def _pods(client: Client, namespace: str, role: str) -> list[Object]:
    """Return a role's pods that are not being deleted, sorted by index."""
    pods = client.list("Pod", namespace, labels=f"tfgen/role={role}")
    there = [
        pod for pod in pods if "deletionTimestamp" not in pod["metadata"] and _phase(pod) in ("Pending", "Running")
    ]
    return sorted(there, key=lambda pod: int(environment(client, pod)["TASK_INDEX"]))


def _running_workers(client: Client, namespace: str) -> list[int]:
    """Return the indices of the running workers."""
    running = [pod for pod in _pods(client, namespace, "worker") if _phase(pod) == "Running"]
    return [int(environment(client, pod)["TASK_INDEX"]) for pod in running]


def _phase(pod: Object) -> str:
    return str(pod.get("status", {}).get("phase", ""))
