"""Volcano's scheduler and controllers, where somebody has built them: https://volcano.sh/en/docs/.

No version of Volcano can be built from the Go module proxy, so these two are the only servers that are not pinned.
"""

from __future__ import annotations

from pathlib import Path

from tests.e2e.servers.process import Process, answers

PORT = 16470


class VolcanoScheduler(Process):
    """vc-scheduler, with its default actions and plugins."""

    def __init__(self, folder: Path, address: str, kubeconfig: Path, programs: Path) -> None:
        """Describes the server; `programs` is the folder that has vc-scheduler."""
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
    """vc-controller-manager, which moves PodGroups on and makes the queues."""

    def __init__(self, folder: Path, address: str, kubeconfig: Path, programs: Path) -> None:
        """Describes the server; `programs` is the folder that has vc-controller-manager."""
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
