"""Argo CD's repo server with tfgen's plugin, application and ApplicationSet controller, and their redis.

All components are the same program; the variable ARGOCD_BINARY_NAME selects the component. A component reads its
settings from the namespace of its kubeconfig's context.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import copy, which

from tests.e2e.loopback import free_port
from tests.e2e.servers.process import Process, answers
from tests.e2e.servers.program import MissingRequirementError, program
from tests.support.tools import CACHE, ROOT

NAMESPACE = "argocd"

_REDIS_PORT = 16490
_REPO_PORT = 16491


def parts(folder: Path, address: str, kubeconfig: Path, env: Mapping[str, str], scripts: Path) -> Iterator[Process]:
    """Return all servers, in the order of their start.

    Args:
        folder: The folder for their logs and data.
        address: The address where they listen.
        kubeconfig: The access to the cluster.
        env: The environment.
        scripts: The folder of Argo CD's scripts, of which the image of Argo CD has `git-verify-wrapper.sh` on its PATH.

    Raises:
        MissingRequirementError: A program is not built or not installed.
    """
    redis = which("redis-server")
    if redis is None:
        raise MissingRequirementError("needs redis-server, which `make packages` installs")
    home = folder / "argocd"
    for name in ("tls", "ssh", "gpg/source", "gpg/keys", "plugins", "tmp", "bin"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (home / "gpg" / "keys").chmod(0o700)
    wrapper = Path(copy(scripts / "git-verify-wrapper.sh", home / "bin"))
    wrapper.chmod(0o755)  # the sources of a Go module have no executable files
    variables = {
        **env,
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "PATH": f"{home / 'bin'}:{CACHE}:{env['PATH']}",
        "KUBECONFIG": str(kubeconfig),
        "ARGOCD_FAKE_IN_CLUSTER": "true",
        "ARGOCD_GPG_ENABLED": "false",
        "ARGOCD_GNUPGHOME": str(home / "gpg" / "keys"),
        "ARGOCD_GPG_DATA_PATH": str(home / "gpg" / "source"),
        "ARGOCD_TLS_DATA_PATH": str(home / "tls"),
        "ARGOCD_SSH_DATA_PATH": str(home / "ssh"),
        "ARGOCD_PLUGINSOCKFILEPATH": str(home / "plugins"),
        "ARGOCD_RECONCILIATION_TIMEOUT": "3s",
        "ARGOCD_RECONCILIATION_JITTER": "0s",
    }
    metrics = free_port()  # on every address: no flag changes this
    to_redis, to_repo = f"--redis={address}:{_REDIS_PORT}", f"{address}:{_REPO_PORT}"

    def part(name: str, flags: list[str], health: str, more: Mapping[str, str] | None = None) -> Process:
        return Process(
            name,
            (program("argocd"), *flags, "--logformat=text"),
            folder / f"{name}.log",
            ready=lambda: answers(f"http://{address}:{health}"),
            env={**variables, "ARGOCD_BINARY_NAME": name, **(more or {})},
        )

    yield Process(
        "redis",
        (redis, "--port", str(_REDIS_PORT), "--bind", address, "--save", "", "--appendonly", "no", "--dir", home),
        folder / "redis.log",
        ready=lambda: True,  # the other components wait for redis
    )
    yield part(
        "argocd-repo-server",
        [
            f"--address={address}",
            f"--port={_REPO_PORT}",
            f"--metrics-address={address}",
            "--metrics-port=16492",
            to_redis,
            "--disable-tls",
            "--client-ca-path=",  # the default path contradicts --disable-tls
            "--revision-cache-expiration=1s",
        ],
        "16492/healthz",
    )
    yield Process(
        "argocd-cmp-server",
        (program("argocd"), f"--config-dir-path={ROOT / 'docs' / 'argocd-plugin'}", "--logformat=text"),
        folder / "argocd-cmp-server.log",
        ready=(home / "plugins" / "tfgen.sock").exists,
        env={
            **variables,
            "ARGOCD_BINARY_NAME": "argocd-cmp-server",
            "ARGOCD_CMP_WORKDIR": str(home / "tmp" / "cmp"),
            "PATH": f"{Path(sys.executable).parent}:{variables['PATH']}",  # with tfgen
        },
    )
    yield part(
        "argocd-application-controller",
        [
            f"--kubeconfig={kubeconfig}",
            f"--repo-server={to_repo}",
            "--repo-server-plaintext",
            to_redis,
            f"--metrics-port={metrics}",
            "--app-resync=3",
            "--app-resync-jitter=0",
            "--repo-error-grace-period-seconds=5",
            "--self-heal-backoff-cap-seconds=3",
            "--persist-resource-health",
        ],
        f"{metrics}/healthz",
        {"HOSTNAME": "argocd-application-controller-0"},
    )
    yield part(
        "argocd-applicationset-controller",
        [
            f"--kubeconfig={kubeconfig}",
            f"--argocd-repo-server={to_repo}",
            "--repo-server-plaintext",
            f"--metrics-addr={address}:16494",
            f"--probe-addr={address}:16495",
            f"--webhook-addr={address}:16496",
        ],
        "16494/metrics",
        {"NAMESPACE": NAMESPACE, "ARGOCD_APPLICATIONSET_CONTROLLER_REQUEUE_AFTER": "3s"},
    )
