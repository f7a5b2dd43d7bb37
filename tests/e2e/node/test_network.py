"""The rendered policies, enforced on real packets by the NetworkPolicy test double."""

from __future__ import annotations

from tests.e2e.client import eventually
from tests.e2e.node.node_job import COUNTING, ENDS_AT_SIGTERM, PATIENCE
from tests.e2e.node.probe import API_SERVER, CONNECT, DROPPED, OPEN, PORT, Probe
from tests.e2e.node.test_dist_mnist import MakeJob
from tests.e2e.real_node import Node

LISTEN = """
import socket
server = socket.create_server(("", 2222))
while True:
    server.accept()
"""
LISTENING = {"command": ["python", "-c", f"{ENDS_AT_SIGTERM}{LISTEN}"], "args": []}


def test_policies_hold_by_the_test_double(job: MakeJob, node: Node, namespace: str) -> None:
    limited = {"network": {"egress": {"limited": True, "rules": [API_SERVER]}}}
    roles = {"chief": COUNTING, "ps": {**LISTENING, "replicas": 1}, "worker": {**LISTENING, "replicas": 1}}
    training = job(
        "dist-mnist",
        {"roles": roles, **limited},
        spec={"tensorboard": {"logDir": "/model"}, "storage": {"model": {"for": ["chief", "tensorboard"]}}},
    )
    training.apply()
    stranger = Probe(node, "stranger", namespace)
    elsewhere = node.cluster.namespace(f"{namespace[:50]}-elsewhere")
    labels = training.pod("worker")["metadata"]["labels"]
    twin = Probe(node, "twin", elsewhere, labels)
    ps, worker = (training.pod(role)["status"]["podIP"] for role in ("ps", "worker"))

    # Try a pod of the same namespace, and a pod of another namespace with the same labels as a worker.
    assert [stranger.connect(ip, 2222) for ip in (ps, worker)] == [DROPPED, DROPPED]
    assert twin.connect(ps, 2222) == DROPPED

    def reaches(role: str, host: str) -> bool:
        return training.run_in(role, 0, "python3", "-c", CONNECT, host, "2222").strip() == OPEN

    # The job's own pods reach the job's own ports.
    eventually(lambda: reaches("chief", "dist-mnist-worker-0.dist-mnist"), "the port of the worker")
    eventually(lambda: reaches("worker", "dist-mnist-ps-0.dist-mnist"), "the port of the ps")

    # The readers of TensorBoard are in its namespace, and reach only its port.
    board = "dist-mnist-tensorboard"
    eventually(lambda: "<title>TensorBoard</title>" in stranger.fetch(f"http://{board}:6006/"), "a page", PATIENCE)
    pod = node.client.list("v1/Pod", namespace, labels="tfgen/role=tensorboard")[0]["status"]["podIP"]
    assert stranger.connect(pod, 2222) == DROPPED
    assert twin.connect(pod, 6006) == DROPPED

    # Egress is limited to the job's own pods and DNS: the name resolves, and the address is unreachable.
    eventually(lambda: stranger.connect(twin.address, PORT) == OPEN, "the twin's own port", PATIENCE)
    name = f"{twin.address.replace('.', '-')}.{elsewhere}.pod.cluster.local"
    found = training.run_in("worker", 0, "python3", "-c", f"import socket; print(socket.gethostbyname({name!r}))")
    assert found.strip() == twin.address
    assert training.run_in("worker", 0, "python3", "-c", CONNECT, name, str(PORT)).strip() == DROPPED
    node.client.delete("Namespace", elsewhere)

    # The finisher reaches the API server.
    training.run_in("chief", 0, "touch", "/tmp/last")
    training.wait_until_released()
    assert (training.replicas("ps"), training.replicas("worker")) == (0, 0)
