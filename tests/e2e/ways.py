"""The commands that bring a rendered job into a cluster. Each command does only this, and can run again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.e2e.control_plane import ControlPlane
from tests.support.command import WITHOUT_COLLECTION, Command
from tests.support.rendered import Rendered
from tests.support.tools import helm_program

Apply = Callable[[ControlPlane, Rendered, str], str]
"""A function that brings a job into a namespace, and returns the output of the program."""


def kubectl(*options: str) -> Apply:
    """Return the command `kubectl apply` of the base."""

    def apply(cluster: ControlPlane, job: Rendered, namespace: str) -> str:
        return cluster.kubectl("apply", *options, "-n", namespace, "-k", job.overlay(None))

    return apply


def helm(*options: str, program: Callable[[], Path] = helm_program) -> Apply:
    """Return the command `helm upgrade --install` of the chart, with Helm 4 or another Helm."""

    def upgrade(cluster: ControlPlane, job: Rendered, namespace: str) -> str:
        release: list[str | Path] = ["upgrade", "--install", job.name, job.chart, "--namespace", namespace]
        env = {**WITHOUT_COLLECTION, "KUBECONFIG": str(cluster.admin)}
        return Command((program(), *release, *options), env=env).run(timeout=1800)

    return upgrade


WAYS: dict[str, Apply] = {
    "kubectl-apply": kubectl(),
    "kubectl-apply-server-side": kubectl("--server-side"),
    "helm-upgrade": helm(),
    "helm-upgrade-client-side": helm("--server-side=false"),
}
