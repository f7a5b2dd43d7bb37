"""High-priority pods evict low-priority workers, and the workers return when GPUs are free.

Fake nodes show the pods only; tests/e2e/node/test_preemption.py shows the training. Here, a worker returns with its
same name and index, the end of the chief still ends the job, and an eviction by the scheduler is no failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.client import Client, Object, eventually
from tests.e2e.conftest import up
from tests.e2e.control_plane import ControlPlane, fake_node
from tests.e2e.jobs import write_job
from tests.e2e.kubelet import end, environment

pytestmark = pytest.mark.xdist_group("preemption")  # one cluster for all tests of this module

SERVING = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/mnist:1
  priorityClassName: low
  priorityClasses: {low: {value: 1}}
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


@pytest.fixture(scope="module")
def four_gpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster of two nodes with two GPUs each."""
    nodes = [fake_node(f"node-{number}", gpus=2) for number in range(2)]
    with up(request, ControlPlane(tmp_path_factory.mktemp("four-gpus"), nodes=nodes)) as cluster:
        cluster.client.apply(HIGH)
        yield cluster


@pytest.fixture
def place(four_gpus: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    name = four_gpus.namespace(request.node.name.removeprefix("test_").replace("_", "-"))
    yield name
    four_gpus.client.delete("Namespace", name)
    eventually(lambda: not four_gpus.client.list("Pod"), "no pod")


def test_preemption_of_workers_that_serve(four_gpus: ControlPlane, place: str, tmp_path: Path) -> None:
    client = four_gpus.client
    _start(four_gpus, SERVING, place, tmp_path)
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


def test_preemption_of_workers_in_step(four_gpus: ControlPlane, place: str, tmp_path: Path) -> None:
    """The workers are pods of a Job that allows no failure: an eviction by the scheduler is no failure."""
    client = four_gpus.client
    _start(four_gpus, IN_STEP, place, tmp_path)
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
