"""The commands that look at a cluster, on a real kubelet: it alone has logs, and says why a container does not run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import eventually
from tests.e2e.node.test_dist_mnist import MakeJob
from tests.e2e.real_node import Node
from tests.e2e.servers.faulty_proxy import FaultyProxy
from tests.e2e.servers.kubeconfig import write_kubeconfig
from tests.support.command import Command

RETURN = 10.0
"""Seconds within which a command is back after its server is."""
STEPS = 2000

PROGRAM = f"""
import json, os, pathlib, sys, time
task = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
first = pathlib.Path("/tmp/first")
if task == "chief":
    for step in range({STEPS}):
        print("step", step, flush=True)
        time.sleep(0.03)
    sys.stdout.write("the end")
    sys.exit(0)
if task == "worker" and not first.exists():
    first.touch()
    time.sleep(20)
    for number in range(1000):
        print("first", number)
    sys.exit(1)
print("serves", flush=True)
time.sleep(3600)
"""


@pytest.fixture
def proxy(node: Node) -> Iterator[FaultyProxy]:
    cluster = node.cluster
    with FaultyProxy(cluster.url, cluster.authority.certificate, cluster.address) as server:
        yield server


def kubeconfig(node: Node, proxy: FaultyProxy, namespace: str, folder: Path) -> Path:
    """That of an account that may do all in a namespace, by the proxy."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "viewer"}}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": namespace}],
    }
    node.client.apply_all([account, binding], namespace)
    token = node.client.token("viewer", namespace)
    return write_kubeconfig(folder / "proxy.kubeconfig", proxy.url, node.cluster.authority.certificate, token)


def test_logs_lose_no_line_over_a_lost_server_and_a_restart(
    node: Node, job: MakeJob, namespace: str, proxy: FaultyProxy, tmp_path: Path
) -> None:
    config = kubeconfig(node, proxy, namespace, tmp_path)
    training = job(
        "dist-mnist", {"command": ["python", "-c", PROGRAM], "args": [], "roles": {"worker": {"replicas": 1}}}
    )
    training.apply()
    where = (tmp_path / "dist-mnist" / "job.yaml", "--env", "laptop", "--namespace", namespace, "--kubeconfig", config)
    output = tmp_path / "logs"
    tfgen = (sys.executable, "-u", "-m", "tfgen")
    with output.open("w") as file, (tmp_path / "wait").open("w") as waited:
        logs = subprocess.Popen((*tfgen, "logs", *where, "-f", "--format", "json"), stdout=file)
        wait = subprocess.Popen((*tfgen, "wait", *where), stdout=waited)
    try:

        def steps() -> int:
            return output.read_text(encoding="utf-8").count('"step ')

        def wait_for_more(patience: float) -> None:
            before = steps()
            eventually(lambda: steps() > before, "further lines", patience)

        eventually(lambda: steps() > 100, "a hundred lines")
        shown = Command((*tfgen, "status", *where)).run()
        assert re.search(r"^step: +[1-9]\d+$", shown, re.MULTILINE), shown
        for fault in (proxy.hang, proxy.refuse):
            fault()
            time.sleep(8)
            proxy.work()
            wait_for_more(RETURN)
        assert logs.wait(600) == 0
        assert wait.wait(60) == 0
    finally:
        logs.kill()
        wait.kill()
    rows: list[dict[str, Any]] = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    texts = {task: [row["text"] for row in rows if row["task"] == task] for task in ("chief-0", "worker-0", "ps-0")}
    assert texts["chief-0"] == [*(f"step {step}" for step in range(STEPS)), "the end"]
    assert texts["worker-0"] == [*(f"first {number}" for number in range(1000)), "serves"]
    assert set(texts["ps-0"]) == {"serves"}
    assert "Succeeded" in (tmp_path / "wait").read_text(encoding="utf-8").splitlines()[-1]


def test_status_says_what_the_kubelet_does(node: Node, job: MakeJob, namespace: str, tmp_path: Path) -> None:
    greedy = ["python", "-c", "print('step 7', flush=True); x = bytearray(10**9); x[::4096] = b'x' * len(x[::4096])"]
    environment = {
        "command": ["python", "-c", "import time; print('step 12', flush=True); time.sleep(3600)"],
        "args": [],
        "roles": {
            "ps": {"image": "registry.example.com/ml/dist-minst:1.4.0"},
            "worker": {"replicas": 1, "command": greedy, "resources": {"limits": {"memory": "400Mi"}}},
        },
    }
    job("dist-mnist", environment).apply()
    where = (tmp_path / "dist-mnist" / "job.yaml", "--env", "laptop", "--namespace", namespace)

    def status() -> str:
        tfgen = (sys.executable, "-m", "tfgen", "status")
        return Command((*tfgen, *where, "--kubeconfig", node.cluster.admin)).run()

    for pattern in (
        r"^dist-mnist/laptop in .*: Partial for ",
        r"why: +worker-0: OOMKilled: tensorflow took more memory than its limit, 400Mi$",
        r"why: +ps-0 and ps-1: (ErrImagePull|ImagePullBackOff): .*dist-minst:1.4.0",
        r"^step: +12$",
    ):
        eventually(lambda pattern=pattern: re.search(pattern, status(), re.MULTILINE), pattern, 120)  # type: ignore[misc]
