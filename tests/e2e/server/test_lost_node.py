"""A run whose node is lost: on a real API server, with the real controllers of nodes, taints, Jobs and StatefulSets.

No kubelet runs on the node LOST: the test reports the state of the node and of its pods like a kubelet, and then
reports nothing, like a stopped kubelet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.client import Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.jobs import write_job
from tests.support.repository import tfgen
from tests.support.tools import ROOT
from tfgen import cli
from tfgen.kubernetes import keys

LOST = "lost-node"
JOB = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist, namespace: NAMESPACE}
spec:
  image: registry.example.com/mnist:1
  retries: 0
  roles:
    chief: {affinity: {nodeAffinity: PREFERRED}, tolerations: [RESERVED, TOLERATION]}
    ps: {}
    worker: {affinity: {nodeAffinity: PREFERRED}, tolerations: [RESERVED, TOLERATION], resources: {gpu: {count: 1}}}
  storage: {model: {mountPath: /model, for: [chief], emptyDir: {}}}
"""
PREFERRED = (
    "{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: "
    "{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [lost-node]}]}}]}"
)
TAINT = {"key": "lost-node", "value": "chief-and-worker", "effect": "NoSchedule"}
"""The taint of the node. Only the chief and the worker tolerate the taint, also when no other node is ready."""

RESERVED = "{key: lost-node, operator: Exists}"
TOLERATION = "{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 1}"
SECTION = (ROOT / "docs" / "live.md").read_text("utf-8").split("## `tfgen release --lost`\n")[1].partition("\n## ")[0]
CLUSTER_ROLE, ROLE = yaml.safe_load_all(re.findall(r"```yaml\n(.*?)```", SECTION, re.DOTALL)[0])


def time(ago: float = 0) -> str:
    """Return the time some seconds ago, as a kubelet writes times in a lease."""
    return (datetime.now(UTC) - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def report(cluster: ControlPlane, status: str, *, renewed: float) -> None:
    """Set the condition Ready of the node, and the age of its lease in seconds."""
    at = time()[:19] + "Z"
    message = "Kubelet stopped posting node status." if status == "Unknown" else "kubelet is posting ready status"
    condition = {"type": "Ready", "status": status, "reason": "Test", "message": message}
    times = {"lastHeartbeatTime": at, "lastTransitionTime": at}
    room = {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"}
    changed = {"status": {"capacity": room, "allocatable": room, "conditions": [{**condition, **times}]}}
    cluster.client.patch("v1/Node", LOST, None, changed, subresource="status")
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": LOST},
        "spec": {"holderIdentity": LOST, "leaseDurationSeconds": 40, "renewTime": time(renewed)},
    }
    cluster.client.apply(lease, "kube-node-lease")


@pytest.fixture
def node(cluster: ControlPlane) -> Iterator[None]:
    """Create the node, ready for pods."""
    labels = {"kubernetes.io/hostname": LOST}
    spec = {"taints": [TAINT]}
    cluster.client.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": LOST, "labels": labels}, "spec": spec}
    )
    try:
        report(cluster, "True", renewed=0)
        eventually(
            lambda: cluster.client.get("v1/Node", LOST)["spec"]["taints"] == [TAINT], "a node without a new taint"
        )
        yield
    finally:
        cluster.client.delete("v1/Node", LOST)


def pods(cluster: ControlPlane, namespace: str) -> dict[str, Object]:
    """Return the newest pod of each role."""
    listed = sorted(cluster.client.list("v1/Pod", namespace), key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
    return {pod["metadata"]["labels"][keys.ROLE]: pod for pod in listed}


@pytest.fixture
def job(cluster: ControlPlane, node: None, namespace: str, tmp_path: Path) -> Path:
    """Start a run whose chief and worker are on the node."""
    path = tmp_path / "job.yaml"
    text = JOB.replace("NAMESPACE", namespace).replace("PREFERRED", PREFERRED)
    text = text.replace("RESERVED", RESERVED).replace("TOLERATION", TOLERATION)
    path.write_text(text, encoding="utf-8")
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", write_job(text, tmp_path / "out").overlay(None))

    def on_node() -> bool:
        now = pods(cluster, namespace)
        return all(role in now and now[role]["spec"].get("nodeName") == LOST for role in ("chief", "worker"))

    eventually(on_node, "a chief and a worker on the node")
    for pod in cluster.client.list("v1/Pod", namespace, fields=f"spec.nodeName={LOST}"):
        state = {"running": {"startedAt": time()[:19] + "Z"}}
        container = {"image": "registry.example.com/mnist:1", "imageID": "", "ready": True, "restartCount": 0}
        statuses = [{"name": item["name"], **container, "state": state} for item in pod["spec"]["containers"]]
        conditions = [{"type": name, "status": "True"} for name in ("Ready", "ContainersReady")]
        status = {"phase": "Running", "containerStatuses": statuses, "conditions": conditions}
        name = pod["metadata"]["name"]
        cluster.client.patch("v1/Pod", name, namespace, {"status": status}, subresource="status")
    return path


def uids(cluster: ControlPlane, namespace: str) -> Mapping[str, Any]:
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in cluster.client.list("v1/Pod", namespace)}


def is_stuck(pod: Object) -> bool:
    """Test whether a pod waits for its kubelet: it is marked by the node controller, and deleted by its taint."""
    conditions = {item["type"]: item["status"] for item in pod["status"]["conditions"]}
    return conditions["Ready"] == "False" and "deletionTimestamp" in pod["metadata"]


def test_a_node_that_answers_keeps_its_pods(cluster: ControlPlane, namespace: str, job: Path) -> None:
    before = uids(cluster, namespace)
    words = ["release", "--lost", str(job), "--kubeconfig", str(cluster.admin)]
    printed = tfgen(*words, code=cli.FAILED).err
    assert "mnist: no pod is on a node that does not answer: lost-node is ready; node-" in printed
    report(cluster, "False", renewed=600)
    printed = tfgen(*words, code=cli.FAILED).err
    assert "the kubelet of lost-node answers, and reports that the node is not ready" in printed
    report(cluster, "Unknown", renewed=5)
    assert re.search(r"the kubelet of lost-node renewed its lease \d+ s ago", tfgen(*words, code=cli.FAILED).err)
    assert uids(cluster, namespace).items() >= before.items()


def test_the_pods_of_a_lost_node_are_shown_and_replaced(
    cluster: ControlPlane, namespace: str, job: Path, account: Callable[..., Path]
) -> None:
    before = pods(cluster, namespace)
    # The node controller misses the kubelet after 50 seconds: a state that the test reported would not mark the pods.
    eventually(lambda: all(is_stuck(pods(cluster, namespace)[role]) for role in ("chief", "worker")), "stuck pods")
    shown = tfgen("status", str(job), "--kubeconfig", str(cluster.admin)).out
    lost = r"lost:     chief-0 and worker-0 on lost-node, which has not been ready for \d+s \(Kubelet stopped posting "
    assert re.search(lost + r"node status\.\); still in use: 1 GPU\n", shown), shown
    assert "fix:      or delete only these pods: tfgen release --lost\n" in shown
    account(CLUSTER_ROLE)
    viewer = account(ROLE)
    printed = tfgen("release", "--lost", str(job), "--kubeconfig", str(viewer)).out
    deleted = {line.split()[1] for line in printed.splitlines() if line.endswith(" deleted")}
    assert deleted == {before[role]["metadata"]["name"] for role in ("chief", "worker")}

    def replaced(role: str) -> bool:
        pod = pods(cluster, namespace).get(role)
        is_new = pod is not None and pod["metadata"]["uid"] != before[role]["metadata"]["uid"]
        return is_new and pod is not None and pod["status"].get("phase") == "Running"

    eventually(lambda: replaced("chief") and replaced("worker"), "new pods that run")
    now = pods(cluster, namespace)
    assert now["ps"]["metadata"]["uid"] == before["ps"]["metadata"]["uid"]
    status = cluster.client.get("batch/v1/Job", "mnist-chief", namespace)["status"]
    assert status.get("failed", 0) == 0, "the lost pod costs no retry, and the Job has none"
    assert all(item["type"] != "Failed" for item in status.get("conditions", ()))
    assert "lost:" not in tfgen("status", str(job), "--kubeconfig", str(cluster.admin)).out


def test_an_account_that_may_not_read_nodes_deletes_nothing(
    cluster: ControlPlane, namespace: str, job: Path, account: Callable[..., Path]
) -> None:
    before = uids(cluster, namespace)
    report(cluster, "Unknown", renewed=600)
    assert "nodes" in tfgen("release", "--lost", str(job), "--kubeconfig", str(account(ROLE)), code=cli.FAILED).err
    assert uids(cluster, namespace).items() >= before.items()
