"""kube-proxy: https://kubernetes.io/docs/reference/config-api/kube-proxy-config.v1alpha1/."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import yaml

from tests.e2e.namespaces import Namespaces
from tests.e2e.servers.kubeconfig import write_kubeconfig
from tests.e2e.servers.pki import Authority
from tests.e2e.servers.process import Process, answers
from tests.e2e.servers.program import program

USER: Final = "system:kube-proxy"

_HEALTH_PORT: Final = 10256


class KubeProxy(Process):
    """Server that routes the addresses of Services to pods."""

    def __init__(self, folder: Path, machine: Namespaces, node: str, server: str, authority: Authority) -> None:
        """Describe the server.

        Args:
            folder: The folder for its log and its configuration.
            machine: The namespaces of the process.
            node: The node's name.
            server: The URL of the API server.
            authority: Signs its certificate.
        """
        user = authority.user(USER)
        kubeconfig = write_kubeconfig(folder / "kube-proxy.kubeconfig", server, authority.certificate, user)
        config = {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "mode": "nftables",
            "hostnameOverride": node,
            "healthzBindAddress": f"{machine.inside}:{_HEALTH_PORT}",
            "metricsBindAddress": "127.0.0.1:10249",
            "nodePortAddresses": [f"{machine.inside}/32"],
            "conntrack": {"maxPerCore": 0, "min": 0},  # these settings apply to the whole machine
        }
        path = folder / "kube-proxy.yaml"
        path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        super().__init__(
            "kube-proxy",
            machine.command((program("kube-proxy"), f"--config={path}")),
            folder / "kube-proxy.log",
            ready=lambda: answers(f"http://{machine.inside}:{_HEALTH_PORT}/healthz"),
        )
