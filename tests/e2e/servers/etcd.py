"""etcd, the store of the API server: https://etcd.io/docs/v3.6/op-guide/configuration/."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.servers.process import Process, answers
from tests.e2e.servers.program import program

PORT = 12379


class Etcd(Process):
    """An etcd with one member, whose data is in the folder of the cluster.

    Attributes:
        url: the URL of the server.
    """

    def __init__(self, folder: Path, address: str) -> None:
        self.url = f"http://{address}:{PORT}"
        peers = f"http://{address}:{PORT + 1}"
        super().__init__(
            "etcd",
            (
                program("etcd"),
                f"--data-dir={folder / 'etcd'}",
                f"--listen-client-urls={self.url}",
                f"--advertise-client-urls={self.url}",
                f"--listen-peer-urls={peers}",
                f"--initial-advertise-peer-urls={peers}",
                f"--initial-cluster=default={peers}",
                "--unsafe-no-fsync",  # the data need not survive a crash
                "--log-level=warn",
            ),
            folder / "etcd.log",
            ready=lambda: answers(f"{self.url}/readyz"),
        )
