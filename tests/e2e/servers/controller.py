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
"""Gives a program an /etc of its own with one link: the first word is where that leads, the second where it is."""


class Controller(Process):
    """The operator's one program. The kinds that it watches must be there before it starts."""

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
        """Describes the server, and has the API server ask it.

        Args:
            name: What it is called.
            cluster: Where it works, as the administrator.
            program: The program.
            port: Of its webhooks; that of its health follows.
            settings: What its file says besides where it listens, and that it is alone.
            webhooks: What it serves.
            certificates: A folder below /etc in which it looks for its certificate whatever its settings say.
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
