"""kube-apiserver: https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from pathlib import Path

from tests.e2e.servers.etcd import Etcd
from tests.e2e.servers.pki import Authority, KeyPair
from tests.e2e.servers.process import Process, answers
from tests.e2e.servers.program import program

PORT = 16443
SERVICES = "10.96.0.0/16"
"""The default network of the Services."""


class ApiServer(Process):
    """The API server, with RBAC, NodeRestriction and Pod Security admission, like in a production cluster.

    Attributes:
        url: the URL of the server.
    """

    def __init__(
        self,
        folder: Path,
        address: str,
        etcd: Etcd,
        authority: Authority,
        token_keys: KeyPair,
        services: str,
        flags: Iterable[str] = (),
    ) -> None:
        """Describe the server.

        Args:
            folder: The folder for its log and its certificates.
            address: The address where it listens.
            etcd: The store of its objects.
            authority: Signs the certificates of the server and of its users.
            token_keys: The keys of service accounts' tokens.
            services: The network of the Services.
            flags: More flags.
        """
        self.url = f"https://{address}:{PORT}"
        names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
        kubernetes_address = str(ipaddress.ip_network(services)[1])  # of the Service `kubernetes`
        own = authority.server("kube-apiserver", [address, kubernetes_address, *names])
        to_kubelet = authority.user("kube-apiserver-kubelet-client", ["system:masters"])
        super().__init__(
            "kube-apiserver",
            (
                program("kube-apiserver"),
                f"--etcd-servers={etcd.url}",
                f"--bind-address={address}",
                f"--advertise-address={address}",
                f"--secure-port={PORT}",
                f"--service-cluster-ip-range={services}",
                f"--cert-dir={folder / 'kube-apiserver'}",
                f"--tls-cert-file={own.certificate}",
                f"--tls-private-key-file={own.key}",
                f"--client-ca-file={authority.certificate}",
                f"--kubelet-certificate-authority={authority.certificate}",
                f"--kubelet-client-certificate={to_kubelet.certificate}",
                f"--kubelet-client-key={to_kubelet.key}",
                "--kubelet-preferred-address-types=InternalIP",
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                f"--service-account-key-file={token_keys.certificate}",
                f"--service-account-signing-key-file={token_keys.key}",
                "--authorization-mode=Node,RBAC",
                "--enable-admission-plugins=NodeRestriction",
                "--anonymous-auth=true",  # for /readyz
                # Kubernetes 1.37 ends if it must publish a loopback address as the endpoint of its Service.
                *(["--endpoint-reconciler-type=none"] if ipaddress.ip_address(address).is_loopback else []),
                *flags,
            ),
            folder / "kube-apiserver.log",
            ready=lambda: answers(f"{self.url}/readyz", authority.certificate),
        )
