"""Flux's source-controller, kustomize-controller and helm-controller: https://fluxcd.io/flux/components/."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.e2e.servers.process import Process, answers
from tests.e2e.servers.program import program

NAMESPACE = "flux-system"

_STORAGE_PORT = 16481
# Objects to apply before the rest of a commit, as docs/gitops.md recommends: a gang before its pods.
_FIRST = "scheduling.volcano.sh/PodGroup"


class SourceController(Process):
    """The server that clones repositories, and serves the clones."""

    def __init__(self, folder: Path, address: str, kubeconfig: Path, env: Mapping[str, str]) -> None:
        storage = f"{address}:{_STORAGE_PORT}"
        (folder / "sources").mkdir(exist_ok=True)
        super().__init__(
            "source-controller",
            (
                program("source-controller"),
                *_common(address, 16482),
                f"--storage-path={folder / 'sources'}",
                f"--storage-addr={storage}",
                f"--storage-adv-addr={storage}",
            ),
            folder / "source-controller.log",
            ready=lambda: answers(f"http://{address}:16483/readyz"),
            env=_env(env, kubeconfig),
        )


class KustomizeController(Process):
    """The server that builds, applies and prunes overlays."""

    def __init__(self, folder: Path, address: str, kubeconfig: Path, env: Mapping[str, str]) -> None:
        super().__init__(
            "kustomize-controller",
            (
                program("kustomize-controller"),
                *_common(address, 16484),
                "--requeue-dependency=2s",
                "--max-retry-delay=5s",
                f"--custom-apply-stage-kinds={_FIRST}",
            ),
            folder / "kustomize-controller.log",
            ready=lambda: answers(f"http://{address}:16485/readyz"),
            env=_env(env, kubeconfig),
        )


class HelmController(Process):
    """The server that installs, upgrades and uninstalls charts."""

    def __init__(self, folder: Path, address: str, kubeconfig: Path, env: Mapping[str, str]) -> None:
        super().__init__(
            "helm-controller",
            (program("helm-controller"), *_common(address, 16486)),
            folder / "helm-controller.log",
            ready=lambda: answers(f"http://{address}:16487/readyz"),
            env=_env(env, kubeconfig),
        )


def _common(address: str, port: int) -> tuple[str, ...]:
    """Return the flags of every controller. The port of the health checks follows the port of the metrics."""
    return (
        "--watch-all-namespaces=true",
        "--enable-leader-election=false",
        "--events-addr=",
        f"--metrics-addr={address}:{port}",
        f"--health-addr={address}:{port + 1}",
        "--log-encoding=console",
    )


def _env(env: Mapping[str, str], kubeconfig: Path) -> dict[str, str]:
    return {**env, "KUBECONFIG": str(kubeconfig), "RUNTIME_NAMESPACE": NAMESPACE}
