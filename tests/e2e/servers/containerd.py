"""containerd: runs the pods' containers. https://github.com/containerd/containerd/blob/v1.6.20/docs/cri/config.md"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.e2e.images.oci import Image, write_archive
from tests.e2e.namespaces import Namespaces
from tests.e2e.servers.process import Process
from tests.support.command import CommandError

SOCKET: Final = "/run/containerd/containerd.sock"
"""The path of its socket, in the namespaces of the node."""

PAUSE: Final = "tfgen.invalid/base:1"
"""The image of the container that owns a pod's network. Any program that does nothing is enough."""

_CTR: Final = ("ctr", "--namespace", "k8s.io")

# restrict_oom_score_adj: root may lack the permission to lower a process's OOM score.
_CONFIG: Final = """\
version = 2
root = "{root}"
state = "/run/containerd"
disabled_plugins = [{disabled}]

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  stream_server_address = "127.0.0.1"
  disable_apparmor = true
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{cni}"
"""
_DISABLED: Final = [f"io.containerd.snapshotter.v1.{name}" for name in ("aufs", "btrfs", "devmapper", "zfs")]


@dataclass(frozen=True)
class PodNetwork:
    """The network of a node's pods: one bridge.

    Attributes:
        range: the network of the pods' addresses, such as "10.244.0.0/24".
        routes: all other networks that a pod reaches. A pod has no default route, so no packet leaves this machine.
    """

    range: str
    routes: tuple[str, ...]

    def plugins(self) -> dict[str, Any]:
        """Return the list of network plugins: https://www.cni.dev/plugins/current/main/bridge/."""
        addresses = {
            "type": "host-local",
            "dataDir": "/run/cni",
            "ranges": [[{"subnet": self.range}]],
            "routes": [{"dst": route} for route in self.routes],
        }
        bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True, "ipam": addresses}
        return {"cniVersion": "0.4.0", "name": "tfgen", "plugins": [bridge]}


class Containerd(Process):
    """containerd with the plugins that give each pod an address."""

    def __init__(self, folder: Path, machine: Namespaces, root: Path, network: PodNetwork | None = None) -> None:
        """Describe the server.

        Args:
            folder: The folder for its log and configuration.
            machine: The namespaces of the process.
            root: The folder for images and containers.
            network: The network of the pods. Without a network, containerd can only load images.
        """
        self._machine = machine
        cni = folder / "cni"
        cni.mkdir(parents=True)
        if network:
            (cni / "10-tfgen.conflist").write_text(json.dumps(network.plugins()), encoding="utf-8")
        config = folder / "containerd.toml"
        disabled = ", ".join(json.dumps(name) for name in _DISABLED)
        config.write_text(_CONFIG.format(root=root, disabled=disabled, pause=PAUSE, cni=cni), encoding="utf-8")
        super().__init__(
            "containerd",
            machine.command(("containerd", "--config", config)),
            folder / "containerd.log",
            ready=self._answers,
        )

    def _answers(self) -> bool:
        try:
            self._machine.run("ctr", "version")
        except CommandError:
            return False
        return True

    def load(self, images: Iterable[Image]) -> None:
        """Import images, and unpack them."""
        argv = [str(word) for word in self._machine.command((*_CTR, "images", "import", "-"))]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as ctr:
            if ctr.stdin is None:
                raise BrokenPipeError("ctr")
            write_archive(ctr.stdin, images)
        if ctr.returncode:
            raise RuntimeError(f"{' '.join(argv)}: exit code {ctr.returncode}")


def copy_store(source: Path, target: Path) -> None:
    """Copy the images of a containerd that has ended, for another containerd. Both folders are on one file system.

    containerd never changes a file after the first write, so hard links are enough. Only the databases need copies.
    """
    subprocess.run(("cp", "--archive", "--link", source, target), check=True)
    for database in target.rglob("*.db"):
        database.unlink()
        shutil.copy(source / database.relative_to(target), database)
