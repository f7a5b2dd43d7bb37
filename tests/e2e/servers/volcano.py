"""Volcano's scheduler, controllers and webhooks, if built on this machine: https://volcano.sh/en/docs/.

The Go module proxy has no version of Volcano that builds, so the version is not pinned.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.e2e.client import Client, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.servers.process import Process, answers, listens
from tests.e2e.servers.webhooks import Webhook, register

PORT: Final = 16470

WEBHOOKS: Final = (
    Webhook("/jobs/mutate", "batch.volcano.sh/v1alpha1/jobs"),
    Webhook("/jobs/validate", "batch.volcano.sh/v1alpha1/jobs"),
    Webhook("/podgroups/mutate", "scheduling.volcano.sh/v1beta1/podgroups"),
    Webhook("/podgroups/validate", "scheduling.volcano.sh/v1beta1/podgroups", ("CREATE",)),
    Webhook("/queues/mutate", "scheduling.volcano.sh/v1beta1/queues"),
    Webhook("/queues/validate", "scheduling.volcano.sh/v1beta1/queues", ("CREATE", "UPDATE", "DELETE")),
    Webhook("/pods/mutate", "/v1/pods"),
    Webhook("/pods/validate", "/v1/pods", ("CREATE",)),
)
"""All webhooks of its chart: installer/helm/chart/volcano/templates/webhooks.yaml of Volcano 1.15."""


class VolcanoScheduler(Process):
    """vc-scheduler, with its default actions and plugins."""

    def __init__(self, folder: Path, address: str, kubeconfig: Path, programs: Path) -> None:
        """Describe the server. `programs` is the folder of vc-scheduler."""
        super().__init__(
            "vc-scheduler",
            (
                programs / "vc-scheduler",
                f"--kubeconfig={kubeconfig}",
                f"--healthz-address={address}:{PORT}",
                "--enable-healthz=true",
                "--enable-metrics=false",
                "--leader-elect=false",
            ),
            folder / "vc-scheduler.log",
            ready=lambda: answers(f"http://{address}:{PORT}/healthz"),
        )


class VolcanoControllers(Process):
    """vc-controller-manager, which updates PodGroups and creates the queues."""

    def __init__(self, folder: Path, address: str, kubeconfig: Path, programs: Path) -> None:
        """Describe the server. `programs` is the folder of vc-controller-manager."""
        super().__init__(
            "vc-controller-manager",
            (
                programs / "vc-controller-manager",
                f"--kubeconfig={kubeconfig}",
                f"--healthz-address={address}:{PORT + 1}",
                "--enable-healthz=true",
                "--leader-elect=false",
            ),
            folder / "vc-controller-manager.log",
            ready=lambda: answers(f"http://{address}:{PORT + 1}/healthz"),
        )


class VolcanoWebhooks(Process):
    """vc-webhook-manager, which sets the defaults of a new Job, and rejects an invalid Job."""

    def __init__(self, cluster: ControlPlane, programs: Path) -> None:
        """Describe the server, and register its webhooks. `programs` is the folder of vc-webhook-manager."""
        folder, address, port = cluster.folder, cluster.address, PORT + 2
        tls = cluster.authority.server("volcano-admission", [address])
        url, authority = f"https://{address}:{port}", cluster.authority.certificate
        register(cluster.client, url, authority, WEBHOOKS, "volcano-admission-service")
        super().__init__(
            "vc-webhook-manager",
            (
                programs / "vc-webhook-manager",
                f"--kubeconfig={cluster.admin}",
                f"--enabled-admission={','.join(webhook.path for webhook in WEBHOOKS)}",
                f"--webhook-url={url}",
                f"--listen-address={address}",
                f"--port={port}",
                f"--tls-cert-file={tls.certificate}",
                f"--tls-private-key-file={tls.key}",
                f"--ca-cert-file={authority}",
                "--enable-healthz=true",
                f"--healthz-address={address}:{PORT + 3}",
            ),
            folder / "vc-webhook-manager.log",
            # The server reports that it is healthy before it listens.
            ready=lambda: listens(address, port),
        )


def start_volcano(cluster: ControlPlane, programs: Path) -> None:
    """Start all servers of Volcano in a cluster that serves its kinds, and create the queue of its installation."""
    for server in (
        VolcanoWebhooks(cluster, programs),
        VolcanoScheduler(cluster.folder, cluster.address, cluster.admin, programs),
        VolcanoControllers(cluster.folder, cluster.address, cluster.admin, programs),
    ):
        cluster.start(server).wait_until_ready()
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "default"}}
    cluster.client.apply({**queue, "spec": {"weight": 1}}, force=True)
    eventually(lambda: _is_open(cluster.client), "the open queue")


def _is_open(client: Client) -> bool:
    """Test whether Volcano's controller has opened the default queue."""
    return bool(client.get("scheduling.volcano.sh/v1beta1/Queue", "default").get("status", {}).get("state") == "Open")
