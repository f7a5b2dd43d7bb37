"""The clusters that all other tests of this folder need: the start, the failure and the end of their servers."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.client import eventually
from tests.e2e.control_plane import ControlPlane, has_condition
from tests.e2e.servers.process import Process, ServerError
from tests.support.command import Command, CommandError
from tests.support.tools import ROOT

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one"},
    "spec": {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "main",
                "image": "example.com/image:1",
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    },
}


def test_a_pod_runs_until_it_is_deleted(cluster: ControlPlane, namespace: str) -> None:
    cluster.client.create(POD, namespace)
    eventually(lambda: cluster.client.get("Pod", "one", namespace)["status"].get("phase") == "Running", "the pod")
    cluster.client.delete("Pod", "one", namespace)
    eventually(lambda: not cluster.client.list("Pod", namespace), "no pod")


def test_a_running_pod_of_a_late_node_becomes_ready_again(cluster: ControlPlane, namespace: str) -> None:
    def is_ready() -> bool:
        return has_condition(cluster.client.get("Pod", "one", namespace), "Ready")

    cluster.client.create(POD, namespace)
    eventually(is_ready, "a ready pod")
    # The node controller writes this condition for the pods of a node whose lease is late.
    late = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    cluster.client.patch("Pod", "one", namespace, late, subresource="status")
    eventually(is_ready, "a pod that is ready again")


def test_pod_security_is_enforced(cluster: ControlPlane, namespace: str) -> None:
    pod = {**POD, "spec": {"containers": POD["spec"]["containers"]}}  # type: ignore[index]
    with pytest.raises(CommandError, match='violates PodSecurity "restricted:latest": runAsNonRoot'):
        cluster.kubectl("create", "-n", namespace, "-f", "-", stdin=str(pod))


def test_a_user_may_do_nothing_at_first(cluster: ControlPlane, namespace: str) -> None:
    with pytest.raises(CommandError, match='User "alice" cannot list resource "pods"'):
        cluster.kubectl("get", "pods", "-n", namespace, user=cluster.user("alice", ["ml"]))


def test_a_service_account_is_itself(cluster: ControlPlane, namespace: str) -> None:
    answer = cluster.kubectl("auth", "whoami", user=cluster.service_account("default", namespace))
    assert f"system:serviceaccount:{namespace}:default" in answer


def test_a_server_that_ends_shows_why(tmp_path: Path) -> None:
    script = "import sys; print('no such disk'); sys.exit(3)"
    server = Process("disk", (sys.executable, "-c", script), tmp_path / "disk.log", ready=lambda: False)
    with pytest.raises(ServerError, match=r"disk ended with code 3 before it was ready(?s:.*)disk\.log\nno such disk"):
        server.start().wait_until_ready()


def test_a_server_that_is_never_ready_is_ended(tmp_path: Path) -> None:
    server = Process("sleeper", ("sleep", "600"), tmp_path / "sleeper.log", ready=lambda: False).start()
    pid = server.pid
    with pytest.raises(ServerError, match="sleeper was not ready within 1 s"):
        server.wait_until_ready(1)
    assert not _runs(pid)


def test_no_server_outlives_its_owner(tmp_path: Path) -> None:
    owner = f"""
import os, signal
from pathlib import Path
from tests.e2e.servers.process import Process
server = Process("sleeper", ("sleep", "600"), Path({str(tmp_path / "log")!r}), ready=lambda: True).start()
print(server.pid, flush=True)
os.kill(os.getpid(), signal.{signal.SIGKILL.name})
"""
    with pytest.raises(CommandError) as killed:
        Command((sys.executable, "-c", owner), cwd=ROOT).run()
    assert killed.value.code == -signal.SIGKILL
    eventually(lambda: not _runs(int(killed.value.stdout)), "the server's end")


def test_a_person_has_a_cluster(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "tests.e2e.cluster")
    folder = tmp_path / "cluster"
    said = Command((*command, "up", "--nodes", "1", "--gpus", "2", "--folder", folder), cwd=ROOT).run(timeout=1800)
    assert said == f"export KUBECONFIG={folder}/admin.kubeconfig\n"
    holder = int((folder / "ready").read_text())
    assert _runs(holder)
    Command((*command, "down", "--folder", folder), cwd=ROOT).run(timeout=1800)
    assert not _runs(holder)
    assert not [*tmp_path.iterdir()]


def _runs(pid: int) -> bool:
    """Test whether a process runs and is not a zombie."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
