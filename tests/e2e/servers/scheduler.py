"""kube-scheduler: https://kubernetes.io/docs/reference/command-line-tools-reference/kube-scheduler/."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.e2e.servers.pki import Authority
from tests.e2e.servers.process import Process, answers
from tests.e2e.servers.program import program

PORT = 16459
USER = "system:kube-scheduler"


class Scheduler(Process):
    """The default scheduler."""

    def __init__(
        self, folder: Path, address: str, kubeconfig: Path, authority: Authority, flags: Iterable[str] = ()
    ) -> None:
        """Describe the server.

        Args:
            folder: The folder for its log.
            address: The address where it listens.
            kubeconfig: The kubeconfig file of USER.
            authority: Signs its certificate.
            flags: More flags.
        """
        own = authority.server("kube-scheduler", [address])
        super().__init__(
            "kube-scheduler",
            (
                program("kube-scheduler"),
                f"--kubeconfig={kubeconfig}",
                f"--bind-address={address}",
                f"--secure-port={PORT}",
                f"--tls-cert-file={own.certificate}",
                f"--tls-private-key-file={own.key}",
                "--leader-elect=false",
                *flags,
            ),
            folder / "kube-scheduler.log",
            ready=lambda: answers(f"https://{address}:{PORT}/readyz", authority.certificate),
        )
