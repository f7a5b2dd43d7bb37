"""An operator that is built with controller-runtime, and reads its settings from a file."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.control_plane import ControlPlane
from tests.e2e.servers.process import Process, answers, listens
from tests.e2e.servers.webhooks import Webhook, register

_ETC = 'mount -t tmpfs tmpfs /etc && mkdir -p "$(dirname "$1")" && ln -s "$0" "$1" && shift && exec "$@"'
"""A shell command that gives a program its own /etc with one link: `$0` is the target, `$1` the path of the link."""


class Controller(Process):
    """The server of an operator. The kinds that it watches must exist before its start."""

    def __init__(
        self,
        name: str,
        cluster: ControlPlane,
        program: Path,
        port: int,
        settings: Mapping[str, Any],
        webhooks: Iterable[Webhook],
        certificates: str = "",
    ) -> None:
        """Describe the server, and register its webhooks with the API server.

        Args:
            name: The name of the server.
            cluster: The cluster, which the server accesses as the administrator.
            program: The path of the program.
            port: The port of its webhooks. The next port is for its health checks.
            settings: More settings for its file, besides the addresses and the settings for a single instance.
            webhooks: The webhooks that it serves.
            certificates: A fixed folder below /etc in which the program reads its certificate regardless of its
                settings.
        """
        folder, address = cluster.folder / name, cluster.address
        folder.mkdir()
        tls = cluster.authority.server(name, [address])
        for place, source in (("tls.crt", tls.certificate), ("tls.key", tls.key)):
            shutil.copy(source, folder / place)
        register(cluster.client, f"https://{address}:{port}", cluster.authority.certificate, webhooks, name)
        file = folder / "settings.yaml"
        own = {
            "webhook": {"host": address, "port": port, "certDir": str(folder)},
            "health": {"healthProbeBindAddress": f"{address}:{port + 1}"},
            "metrics": {"bindAddress": "0"},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": False},
        }
        file.write_text(yaml.safe_dump({**settings, **own}), encoding="utf-8")
        alone = ("unshare", "--mount", "--propagation=private", "sh", "-c", _ETC, folder, certificates)
        super().__init__(
            name,
            (*(alone if certificates else ()), program, f"--config={file}", f"--kubeconfig={cluster.admin}"),
            folder / f"{name}.log",
            ready=lambda: answers(f"http://{address}:{port + 1}/readyz") and listens(address, port),
        )
