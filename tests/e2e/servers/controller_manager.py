"""kube-controller-manager: StatefulSets, Jobs, garbage collection and the rest.

https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.e2e.servers.pki import Authority, KeyPair
from tests.e2e.servers.process import Process, answers
from tests.e2e.servers.program import program

PORT = 16457
USER = "system:kube-controller-manager"


class ControllerManager(Process):
    """All controllers, each with its own service account, like in a production cluster."""

    def __init__(
        self,
        folder: Path,
        address: str,
        kubeconfig: Path,
        authority: Authority,
        token_keys: KeyPair,
        flags: Iterable[str] = (),
    ) -> None:
        """Describe the server.

        Args:
            folder: The folder for its log.
            address: The address where it listens.
            kubeconfig: The kubeconfig file of USER.
            authority: Signs its certificate. Every service account receives the authority's certificate.
            token_keys: The keys of service accounts' tokens.
            flags: More flags.
        """
        own = authority.server("kube-controller-manager", [address])
        super().__init__(
            "kube-controller-manager",
            (
                program("kube-controller-manager"),
                f"--kubeconfig={kubeconfig}",
                f"--bind-address={address}",
                f"--secure-port={PORT}",
                f"--tls-cert-file={own.certificate}",
                f"--tls-private-key-file={own.key}",
                f"--service-account-private-key-file={token_keys.key}",
                f"--root-ca-file={authority.certificate}",
                "--use-service-account-credentials=true",
                "--leader-elect=false",
                f"--flex-volume-plugin-dir={folder / 'volume-plugins'}",  # the server creates it
                # The default of 20 requests a second protects other users of a cluster. This cluster has no others.
                "--kube-api-qps=200",
                "--kube-api-burst=400",
                *flags,
            ),
            folder / "kube-controller-manager.log",
            ready=lambda: answers(f"https://{address}:{PORT}/healthz", authority.certificate),
        )
