"""Preemption in training: pods of a higher priority evict workers. The rest continues, and evicted workers return."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.client import Object, eventually
from tests.e2e.node.conftest import GPUS
from tests.e2e.node.node_job import PATIENCE
from tests.e2e.node.test_dist_mnist import GOOD, GPU, MakeJob, final_accuracy, only_forwards, steps, with_steps
from tests.e2e.real_node import Node
from tests.e2e.servers.containerd import PAUSE

WORKERS = INTRUDERS = GPUS - 1
CLASSES = {"urgent": 1000, "training": 100, "spare": 1}


@pytest.fixture(autouse=True)
def classes(node: Node) -> Iterator[None]:
    for name, value in CLASSES.items():
        metadata = {"name": name}
        node.client.create(
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": value}
        )
    yield
    for name in CLASSES:
        node.client.delete("PriorityClass", name)


def test_training_goes_on_with_the_workers_that_are_left(job: MakeJob, node: Node, namespace: str) -> None:
    workers = {"replicas": WORKERS, "priorityClassName": "spare", **GPU}
    training = job("dist-mnist", with_steps(4000, priorityClassName="training", roles={"worker": workers}))
    training.apply()
    training.wait_for_line("INFO step 100:", "chief")

    node.client.create(intruders(namespace))
    eventually(lambda: running(node, namespace, "app=intruder") == INTRUDERS, "the intruders", PATIENCE)
    left = running(node, namespace, "tfgen/role=worker")
    assert left == GPUS - INTRUDERS
    saved = steps(training.log("chief"))[-1]
    eventually(lambda: steps(training.log("chief"))[-1] >= saved + 200, "training with the rest", PATIENCE)
    assert running(node, namespace, "tfgen/role=worker") == left

    node.client.delete("Deployment", "intruder", namespace)
    for index in range(WORKERS):
        training.pod("worker", index)
    assert training.wait_for_end() == "Complete"
    log = training.log("chief")
    assert only_forwards(steps(log), 4000)
    assert final_accuracy(log) > GOOD
    assert len(training.pods("chief")) == 1
    training.wait_until_released()
    assert (training.replicas("ps"), training.replicas("worker")) == (0, 0)


def running(node: Node, namespace: str, labels: str) -> int:
    """Count the pods that have a node and no deletion timestamp."""
    pods = node.client.list("v1/Pod", namespace, labels=labels, fields="status.phase=Running")
    return sum("deletionTimestamp" not in pod["metadata"] for pod in pods)


def intruders(namespace: str) -> Object:
    """Return a Deployment whose pods request GPUs with a higher priority than the workers."""
    labels = {"app": "intruder"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "intruder", "namespace": namespace},
        "spec": {
            "replicas": INTRUDERS,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "priorityClassName": "urgent",
                    "terminationGracePeriodSeconds": 0,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": 1000,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [
                        {
                            "name": "intruder",
                            "image": PAUSE,
                            "resources": {"limits": {"nvidia.com/gpu": 1}},
                            "securityContext": {
                                "allowPrivilegeEscalation": False,
                                "capabilities": {"drop": ["ALL"]},
                            },
                        }
                    ],
                },
            },
        },
    }
