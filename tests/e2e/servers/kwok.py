"""KWOK, which stands in for the kubelets of fake nodes: https://kwok.sigs.k8s.io.

It keeps the nodes that have the annotation ANNOTATION ready, and on them it makes each pod Running and Ready at once,
and gone at once when it is deleted. It never ends a pod by itself: a test says when a training is done, and how.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.e2e.servers.process import Process, answers
from tests.e2e.servers.program import program

PORT = 16460
ANNOTATION = {"kwok.x-k8s.io/node": "fake"}
STAGES = Path(__file__).with_name("kwok.yaml")


class Kwok(Process):
    """The kubelets of all fake nodes."""

    def __init__(self, folder: Path, address: str, kubeconfig: Path, flags: Iterable[str] = ()) -> None:
        """Describes the server.

        Args:
            folder: For its log.
            address: Where it listens; the nodes' address, too.
            kubeconfig: Of a user who may do what kubelets may, on every node.
            flags: Further ones.
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
                *flags,
            ),
            folder / "kwok.log",
            ready=lambda: answers(f"http://{address}:{PORT}/healthz"),
        )
