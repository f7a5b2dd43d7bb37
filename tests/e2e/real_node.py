"""A real node, with its control plane: pods' containers run, reach each other by name, and are kept apart by policies.

    with Node(gpus=4) as node:
        namespace = node.cluster.namespace("ml")            # enforces Pod Security "restricted"
        model = node.volume("dist-mnist-model", namespace)  # the folder behind a claim
        node.cluster.kubectl("apply", "-k", "overlays/dist-mnist/dev", "-n", namespace)

containerd, kubelet, kube-proxy and CoreDNS are real, and so are the images' Debian, Python and TensorFlow; the GPUs are
a number in the node's status, policies are enforced by a test double, and a second node FAKE is KWOK's. It needs root.
All that it does to the machine is in namespaces of its own (tests/e2e/namespaces.py), but for the control groups of its
pods, which are removed with it. One node runs at a time on a machine; a second one waits.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.e2e.client import Client, eventually
from tests.e2e.control_plane import ControlPlane, fake_node
from tests.e2e.images import examples, oci
from tests.e2e.namespaces import BRIDGE, Namespaces
from tests.e2e.servers import core_dns
from tests.e2e.servers.api_server import SERVICE_CIDR
from tests.e2e.servers.containerd import Containerd, PodNetwork, copy_store
from tests.e2e.servers.kube_proxy import KubeProxy
from tests.e2e.servers.kubelet import CGROUP, Kubelet
from tests.e2e.servers.network_policy_double import NetworkPolicyDouble
from tests.e2e.servers.program import MissingProgramError
from tests.support.command import Command
from tests.support.tools import CACHE
from tests.timings.plugin import record_start

NAME: Final = "node"
PODS: Final = "10.244.0.0/24"
STORAGE_CLASS: Final = "local"
"""The class of the volumes that `Node.volume` makes."""
GPU_PRODUCT: Final = "NVIDIA-T4"

FAKE: Final = "fake"
"""A second node, of KWOK, for pods that tolerate FAKE_TAINT."""
FAKE_TAINT: Final = {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}

PROGRAMS: Final = ("containerd", "ctr", "ip", "nft", "nsenter", "runc", "sysctl", "unshare")
"""What must be installed."""

_OUTSIDE, _INSIDE = "10.99.0.1", "10.99.0.2"
_CABLE: Final = "10.99.0.0/30"
_CGROUPS: Final = Path("/sys/fs/cgroup")
_BRIDGE_SETTINGS: Final = Path("/proc/sys/net/bridge")
_CPU_SHARES: Final = 2048  # for each processor
_FOLDER: Final = CACHE.parent / "node"
"""On the file system of the images, whose files are linked."""


class Node:
    """The node and its cluster, from entering it on.

    Attributes:
        cluster: the control plane; its processes are the node's too.
        machine: what the node's servers run in.
        folder: the servers' logs and data.
    """

    _kubelet: Kubelet
    cluster: ControlPlane
    machine: Namespaces
    folder: Path

    def __init__(
        self,
        folder: Path | None = None,
        *,
        gpus: int = 0,
        feature_gates: Mapping[str, bool] | None = None,
        apis: Sequence[str] = (),
    ) -> None:
        """Describes the node.

        Args:
            folder: An empty one, kept as it is afterwards; without, a temporary one that is removed.
            gpus: How many GPUs it says that it has, of the product GPU_PRODUCT.
            feature_gates: As of a ControlPlane.
            apis: As of a ControlPlane.
        """
        self._folder, self._gpus = folder, gpus
        self._gates, self._apis = feature_gates, apis
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        for name in PROGRAMS:
            if not shutil.which(name):
                raise MissingProgramError(f"needs {name}, which `make e2e` installs on Debian")
        if os.geteuid():
            raise MissingProgramError("needs root")
        base = examples.base()
        began = time.monotonic()
        with ExitStack() as started:
            started.enter_context(_only_one())
            self.folder = self._folder or Path(started.enter_context(tempfile.TemporaryDirectory(prefix="tfgen-node-")))
            started.enter_context(_control_groups())
            if not _BRIDGE_SETTINGS.exists():
                Command(("modprobe", "br_netfilter")).run()
            self.machine = started.enter_context(Namespaces())
            self.machine.connect(_OUTSIDE, _INSIDE, networks=(PODS, SERVICE_CIDR))
            for setting in ("net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables"):
                self.machine.run("sysctl", "--write", f"{setting}=1")
            copy_store(base.store, _FOLDER / "containerd")
            fake = {**fake_node(FAKE), "spec": {"taints": [FAKE_TAINT]}}
            self.cluster = started.enter_context(
                ControlPlane(
                    self.folder / "cluster",
                    address=_OUTSIDE,
                    nodes=[fake],
                    feature_gates=self._gates,
                    apis=self._apis,
                )
            )
            started.callback(self.machine.end)  # its pods' connections would hold up the API server's end
            self._start()
            self._exit = started.pop_all()
        record_start("real node, with its control plane", time.monotonic() - began)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._exit.close()

    @property
    def client(self) -> Client:
        """The administrator's."""
        return self.cluster.client

    def volume(self, claim: str, namespace: str) -> Path:
        """Makes the volume of a claim of the class STORAGE_CLASS, and returns the folder that it is on this machine.

        It is a `local` one, whose group is set to the pods' `fsGroup`.
        """
        folder = self.folder / "volumes" / namespace / claim
        folder.mkdir(parents=True)
        on_this_node = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NAME]}
        self.client.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": f"{namespace}-{claim}"},
                "spec": {
                    "storageClassName": STORAGE_CLASS,
                    "capacity": {"storage": "100Gi"},
                    "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
                    "persistentVolumeReclaimPolicy": "Retain",
                    "claimRef": {"namespace": namespace, "name": claim},
                    "local": {"path": str(folder)},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_this_node]}]}},
                },
            }
        )
        return folder

    def problem(self) -> str:
        """Return why the node runs no new pods, from its conditions; an empty text if the node is healthy."""
        node = self.client.find("Node", NAME)
        if not node:
            return f"Node {NAME} does not exist"
        expected = {"Ready": "True"}
        return "; ".join(
            f"{condition['type']} is {condition['status']}: {condition.get('message', '')}"
            for condition in node["status"].get("conditions", ())
            if condition["status"] != expected.get(condition["type"], "False")
        )

    def load(self, image: oci.Image) -> None:
        """Load an image into the node, as a registry would serve the image."""
        self._containerd.load([image])

    @contextmanager
    def without_kubelet(self) -> Iterator[None]:
        """Stops the kubelet, so that the node does not answer; its containers go on. It is started again afterwards."""
        self._kubelet.stop()
        try:
            yield
        finally:
            self._kubelet.start().wait_until_ready()
            self._wait_until_ready()

    def logs(self, namespace: str) -> Iterator[tuple[Path, str]]:
        """The log of every start of every container of a namespace that is still kept, and its file.

        The file is NAMESPACE_POD_UID/CONTAINER/START.log, each of its lines TIME STREAM TAG TEXT.
        """
        for path in sorted((self.folder / "pods").glob(f"{namespace}_*/*/*.log")):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            yield path, "".join(f"{line.split(' ', 3)[-1]}\n" for line in lines)

    def _start(self) -> None:
        cluster, folder, machine = self.cluster, self.folder, self.machine
        network = PodNetwork(PODS, routes=(SERVICE_CIDR, _CABLE))
        self._containerd = Containerd(folder / "containerd", machine, _FOLDER / "containerd", network)
        cluster.start(self._containerd).wait_until_ready()
        base = examples.base()
        images = [examples.image(example, base, folder) for example in examples.FOLDERS]
        self._containerd.load([core_dns.image(folder), *images])
        cluster.client.apply_all(core_dns.objects())
        labels = {"nvidia.com/gpu.product": GPU_PRODUCT} if self._gpus else {}
        self._kubelet = Kubelet(folder, machine, NAME, cluster.url, cluster.authority, labels)
        servers = (
            self._kubelet,
            KubeProxy(folder, machine, NAME, cluster.url, cluster.authority),
            NetworkPolicyDouble(folder, machine, cluster.admin, PODS),
        )
        for server in servers:
            cluster.start(server)
        for server in servers:
            server.wait_until_ready()
        self._wait_until_ready()
        eventually(self._has_names, "CoreDNS")

    def _wait_until_ready(self) -> None:
        """Returns when the node is ready, and has its GPUs: a kubelet that starts forgets them."""
        eventually(self._is_ready, "a ready node")
        if self._gpus:
            room = {"nvidia.com/gpu": str(self._gpus)}
            status = {"status": {"capacity": room, "allocatable": room}}
            self.client.patch("Node", NAME, None, status, subresource="status")

    def _is_ready(self) -> bool:
        node = self.client.find("Node", NAME)
        conditions = node["status"].get("conditions", ()) if node else ()
        return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)

    def _has_names(self) -> bool:
        return bool(self.client.get("Deployment", "coredns", core_dns.NAMESPACE)["status"].get("availableReplicas"))


def left_behind() -> list[Path]:
    """Return the leftovers of a node on this machine."""
    places = [
        Path("/sys/class/net") / BRIDGE,
        _FOLDER / "containerd",
        *_CGROUPS.glob(CGROUP),
        *_CGROUPS.glob(f"*/{CGROUP}"),
    ]
    return [place for place in places if place.exists()]


@contextmanager
def _only_one() -> Iterator[None]:
    """Waits for the machine, and leaves nothing in the node's folder."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        store = _FOLDER / "containerd"
        shutil.rmtree(store, ignore_errors=True)  # of a node that was killed
        try:
            yield
        finally:
            shutil.rmtree(store, ignore_errors=True)


@contextmanager
def _control_groups() -> Iterator[None]:
    """The control group of the pods, which must be there, in every hierarchy; without a trace afterwards."""
    hierarchies = [_CGROUPS] if (_CGROUPS / "cgroup.controllers").exists() else [*_CGROUPS.iterdir()]
    groups = [hierarchy / CGROUP for hierarchy in hierarchies if not hierarchy.is_symlink()]
    for group in groups:
        group.mkdir(exist_ok=True)
        shares = group / "cpu.shares"
        if shares.exists():  # by default, as much as one process of this machine has
            shares.write_text(str(_CPU_SHARES * (os.cpu_count() or 1)), encoding="ascii")
    try:
        yield
    finally:
        for group in groups:
            # A group is removed by removing its folder, not what is in it, once its last process is gone.
            eventually(partial(_removed, group), f"the end of {group}")


def _removed(group: Path) -> bool:
    subprocess.run(
        ("find", group, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"), capture_output=True, check=False
    )
    return not group.exists()
