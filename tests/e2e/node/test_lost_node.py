"""A node whose kubelet is stopped: tfgen names its pods, and deletes exactly these, which the controllers replace."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import Object, eventually
from tests.e2e.node.node_job import SLEEPS
from tests.e2e.node.test_dist_mnist import MakeJob
from tests.e2e.real_node import FAKE, FAKE_TAINT, NAME, Node
from tests.support.command import Command, CommandError

ON_FAKE = {"key": FAKE_TAINT["key"], "operator": "Exists"}
AT_ONCE = {
    "key": "node.kubernetes.io/unreachable",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 1,
}
ON_NODE = {
    "weight": 100,
    "preference": {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [NAME]}]},
}
ENVIRONMENT: Any = {
    "command": ["python", "-c", SLEEPS],
    "args": [],
    "retries": 0,
    "roles": {
        "chief": {"tolerations": [AT_ONCE]},
        "ps": {"replicas": 1, "nodeSelector": {"kubernetes.io/hostname": FAKE}, "tolerations": [ON_FAKE]},
        "worker": {
            "replicas": 1,
            "tolerations": [ON_FAKE, AT_ONCE],
            "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [ON_NODE]}},
        },
    },
}


def test_the_pods_of_a_stopped_kubelet_are_named_and_replaced(
    job: MakeJob, node: Node, namespace: str, tmp_path: Path
) -> None:
    training = job("dist-mnist", ENVIRONMENT)
    training.apply()
    before = {role: training.pod(role) for role in ("chief", "ps", "worker")}
    assert [pod["spec"]["nodeName"] for pod in before.values()] == [NAME, FAKE, NAME]
    path = tmp_path / "dist-mnist" / "job.yaml"
    where = (path, "--env", "laptop", "--namespace", namespace, "--kubeconfig", node.cluster.admin)
    status = Command((sys.executable, "-m", "tfgen", "status", *where))
    release = Command((sys.executable, "-m", "tfgen", "release", "--lost", *where))

    def newest(role: str) -> Object:
        # Between the end of a pod and the start of the next pod, a role has no pod.
        return eventually(lambda: training.pods(role), f"a pod of {role}")[-1]

    with node.without_kubelet():
        with pytest.raises(
            CommandError, match=rf"no pod is on a node that does not answer: {FAKE} is ready; {NAME} is "
        ):
            release.run()
        eventually(
            lambda: all("deletionTimestamp" in newest(role)["metadata"] for role in ("chief", "worker")), "taint"
        )
        # No container ended, so the API server keeps the pods.
        assert {role: newest(role)["metadata"]["uid"] for role in before} == uids(before)

        shown = status.run()
        lost = re.search(rf"^lost: +(.+) on {NAME}, which has not been ready for \d+s ", shown, re.M)
        assert lost, shown
        tasks = {*re.split(r", | and ", lost[1])}
        assert {"chief-0", "worker-0"} <= tasks
        assert "ps-0" not in tasks
        assert re.search(rf"^fix: .*kubectl taint nodes {NAME} node.kubernetes.io/out-of-service=", shown, re.M), shown
        assert re.search(r"^fix: .*tfgen release --lost$", shown, re.M), shown

        # The node is not ready, so the scheduler assigns no more pods to it.
        on_node = {pod["metadata"]["name"] for pod in training.pods() if pod["spec"].get("nodeName") == NAME}
        lines = release.run().splitlines()
        deleted = {line.split()[1] for line in lines if line.endswith(" deleted")}
        assert deleted == on_node >= {before[role]["metadata"]["name"] for role in ("chief", "worker")}, lines
        eventually(lambda: newest("worker")["spec"].get("nodeName") == FAKE, "a worker on the other node")
        # The volume of the chief is on the lost node, so the new chief waits.
        eventually(lambda: newest("chief")["metadata"]["uid"] != before["chief"]["metadata"]["uid"], "a new chief")
        assert newest("chief")["status"]["phase"] == "Pending"
        assert newest("ps")["metadata"]["uid"] == before["ps"]["metadata"]["uid"]
        counts = training.object("Job", "chief")["status"]
        assert counts.get("failed", 0) == 0, "the lost pod costs no retry, and the Job has none"
    eventually(lambda: newest("chief")["status"]["phase"] == "Running", "the new chief beside its volume")


def uids(pods: dict[str, Object]) -> dict[str, str]:
    return {role: pod["metadata"]["uid"] for role, pod in pods.items()}
