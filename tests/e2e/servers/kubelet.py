"""kubelet: https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from tests.e2e.namespaces import Namespaces
from tests.e2e.servers.containerd import SOCKET
from tests.e2e.servers.core_dns import DOMAIN
from tests.e2e.servers.kubeconfig import write_kubeconfig
from tests.e2e.servers.pki import Authority
from tests.e2e.servers.process import Process, answers
from tests.e2e.servers.program import program
from tests.e2e.slot import Slot

_HEALTH_PORT: Final = 10248


class Kubelet(Process):
    """The agent that runs a node's pods."""

    def __init__(
        self,
        folder: Path,
        machine: Namespaces,
        slot: Slot,
        name: str,
        server: str,
        authority: Authority,
        labels: Mapping[str, str],
    ) -> None:
        """Describe the server.

        Args:
            folder: The folder for its log, its configuration and its pods' volumes.
            machine: The namespaces of the process.
            slot: The slot of the node, with the name of the control group of all pods.
            name: The node's name.
            server: The URL of the API server.
            authority: Signs its certificates.
            labels: The node's own labels.
        """
        user = authority.user(f"system:node:{name}", ["system:nodes"])
        kubeconfig = write_kubeconfig(folder / "kubelet.kubeconfig", server, authority.certificate, user)
        own = authority.server(name, [name, machine.inside])
        no_resolvers = folder / "resolv.conf"
        no_resolvers.touch()
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": machine.inside,
            "healthzBindAddress": machine.inside,
            "healthzPort": _HEALTH_PORT,
            "tlsCertFile": str(own.certificate),
            "tlsPrivateKeyFile": str(own.key),
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(authority.certificate)},
            },
            "authorization": {"mode": "Webhook"},
            "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "podLogsDir": str(folder / "pods"),
            "volumePluginDir": str(folder / "volume-plugins"),
            "clusterDomain": DOMAIN,
            "clusterDNS": [slot.dns],
            "resolvConf": str(no_resolvers),
            # containerd 1.6 cannot report its cgroup driver.
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{slot.name}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "nodeStatusUpdateFrequency": "5s",
            # No registry can serve a deleted image again, and other programs than the pods use this disk.
            "imageGCHighThresholdPercent": 100,
            "imageGCLowThresholdPercent": 99,
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        }
        path = folder / "kubelet.yaml"
        path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        super().__init__(
            "kubelet",
            machine.command(
                (
                    program("kubelet"),
                    f"--config={path}",
                    f"--kubeconfig={kubeconfig}",
                    f"--root-dir={folder / 'kubelet'}",
                    f"--hostname-override={name}",
                    f"--node-ip={machine.inside}",
                    f"--node-labels={','.join(f'{key}={value}' for key, value in labels.items())}",
                    # Tests read the logs of all starts of a container. No field of the configuration has this limit.
                    "--maximum-dead-containers-per-container=10",
                )
            ),
            folder / "kubelet.log",
            ready=lambda: answers(f"http://{machine.inside}:{_HEALTH_PORT}/healthz"),
        )
