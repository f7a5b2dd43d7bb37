"""KWOK, which replaces the kubelets of fake nodes: https://kwok.sigs.k8s.io.

KWOK keeps each node with the annotation ANNOTATION ready. On these nodes, a pod is Running and Ready at once, and a
deleted pod disappears at once. KWOK never ends a pod by itself: a test ends the training, with the result that it
needs.
"""

from __future__ import annotations

from pathlib import Path

from tests.e2e.servers.process import Process, answers
from tests.e2e.servers.program import program

PORT = 16460
ANNOTATION = {"kwok.x-k8s.io/node": "fake"}
STAGES = Path(__file__).with_name("kwok.yaml")


class Kwok(Process):
    """The kubelets of all fake nodes."""

    def __init__(self, folder: Path, address: str, kubeconfig: Path) -> None:
        """Describe the server.

        Args:
            folder: The folder for its log.
            address: The address where it listens, which is the nodes' address as well.
            kubeconfig: The kubeconfig file of a user with the permissions of kubelets on every node.
        """
        ((key, value),) = ANNOTATION.items()
        super().__init__(
            "kwok",
            (
                program("kwok"),
                f"--kubeconfig={kubeconfig}",
                f"--config={STAGES}",
                f"--manage-nodes-with-annotation-selector={key}={value}",
                "--node-lease-duration-seconds=40",
                "--cidr=10.245.0.0/16",
                f"--node-ip={address}",
                f"--server-address={address}:{PORT}",
                "--v=WARN",
            ),
            folder / "kwok.log",
            ready=lambda: answers(f"http://{address}:{PORT}/healthz"),
        )
