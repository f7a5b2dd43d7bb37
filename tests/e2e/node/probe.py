"""A pod that belongs to no job, and the addresses that it can reach.

    stranger = Probe(node, "stranger", namespace)
    stranger.connect("dist-mnist-ps-0.dist-mnist", 2222)   -> "timed out"

The pod also listens at PORT, so that other pods can try to reach it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.e2e.client import Object, eventually
from tests.e2e.real_node import Node
from tests.e2e.servers import api_server
from tests.e2e.servers.containerd import PAUSE

PORT: Final = 8000
OPEN: Final = "open"
DROPPED: Final = "timed out"
"""The result for packets that a policy drops."""

# The API server listens at an unusual port, so the finisher of a job with limited egress needs this rule.
API_SERVER: Final = {"ports": [{"port": api_server.PORT, "protocol": "TCP"}]}

# The second try is for a new pod, whose first packets may be dropped until its address is known.
CONNECT: Final = """
import socket, sys
for _ in range(2):
    try:
        socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=3).close()
        answer = "open"
        break
    except OSError as error:
        answer = str(error)
print(answer)
"""

FETCH: Final = """
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
except OSError as error:
    print(error)
"""


class Probe:
    """The pod, once it runs.

    Attributes:
        address: its IP address.
    """

    def __init__(self, node: Node, name: str, namespace: str, labels: Mapping[str, str] | None = None) -> None:
        self._node, self._name, self._namespace = node, name, namespace
        node.client.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
                "spec": {
                    "terminationGracePeriodSeconds": 0,
                    "automountServiceAccountToken": False,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": 1000,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [
                        {
                            "name": "probe",
                            "image": PAUSE,
                            "command": ["python3", "-m", "http.server", str(PORT), "--directory", "/tmp"],
                            "securityContext": {
                                "allowPrivilegeEscalation": False,
                                "capabilities": {"drop": ["ALL"]},
                            },
                        }
                    ],
                },
            }
        )
        pod = eventually(self._running, f"the pod {name}")
        self.address = str(pod["status"]["podIP"])

    def connect(self, host: str, port: int) -> str:
        """Return the result of a TCP connection from the pod: OPEN, DROPPED or another error."""
        return self.run("python3", "-c", CONNECT, host, str(port)).strip()

    def fetch(self, url: str) -> str:
        """Return the response to a GET from the pod, or the error of the GET."""
        return self.run("python3", "-c", FETCH, url)

    def run(self, *command: str) -> str:
        """Return the output of a command in the pod."""
        return self._node.cluster.kubectl("exec", self._name, f"--namespace={self._namespace}", "--", *command)

    def _running(self) -> Object:
        pod = self._node.client.get("v1/Pod", self._name, self._namespace)
        return pod if pod["status"].get("phase") == "Running" and pod["status"].get("podIP") else {}
