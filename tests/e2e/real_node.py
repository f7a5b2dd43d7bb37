"""A real node, with its control plane: it runs the pods' containers, with DNS names and enforced NetworkPolicies.

    with Node(gpus=4) as node:
        namespace = node.cluster.namespace("ml")            # enforces Pod Security "restricted"
        model = node.volume("dist-mnist-model", namespace)  # the folder behind a claim
        node.cluster.kubectl("apply", "-k", "overlays/dist-mnist/dev", "-n", namespace)

containerd, kubelet, kube-proxy and CoreDNS are real, and so are the images' Debian, Python and TensorFlow. The GPUs are
a number in the node's status, a test double enforces policies, and KWOK runs a second node, FAKE. The node needs root.
All changes to the machine are in separate namespaces (tests/e2e/namespaces.py), except for the control groups of the
pods, which the node removes. Two nodes run at a time on a machine (tests/e2e/slot.py); a third node waits.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.e2e.client import Client, eventually
from tests.e2e.control_plane import ControlPlane, fake_node
from tests.e2e.free_space import check_free_space
from tests.e2e.images import examples, oci
from tests.e2e.namespaces import Namespaces
from tests.e2e.servers import core_dns
from tests.e2e.servers.containerd import Containerd, PodNetwork, copy_store
from tests.e2e.servers.kube_proxy import KubeProxy
from tests.e2e.servers.kubelet import Kubelet
from tests.e2e.servers.network_policy_double import NetworkPolicyDouble
from tests.e2e.servers.program import MissingRequirementError
from tests.e2e.slot import Slot, free_slot
from tests.support.command import Command
from tests.support.tools import CACHE
from tests.timings.plugin import record_start

NAME: Final = "node"
STORAGE_CLASS: Final = "local"
"""The class of the volumes that `Node.volume` creates."""
GPU_PRODUCT: Final = "NVIDIA-T4"

FAKE: Final = "fake"
"""The name of a second node, of KWOK, for pods that tolerate FAKE_TAINT."""
FAKE_TAINT: Final = {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}

PROGRAMS: Final = ("containerd", "ctr", "ip", "nft", "nsenter", "runc", "sysctl", "unshare")
"""The programs that must be installed."""

_CGROUPS: Final = Path("/sys/fs/cgroup")
_BRIDGE_SETTINGS: Final = Path("/proc/sys/net/bridge")
_CPU_SHARES: Final = 2048  # for each processor
_FOLDER: Final = CACHE.parent / "node"
"""A folder on the file system of the images, whose files are hard links."""


class Node:
    """The node and its cluster, from `__enter__` to `__exit__`.

    Attributes:
        cluster: the control plane, which also runs the node's processes.
        machine: the namespaces of the node's servers.
        slot: the names and addresses of the node.
        folder: the servers' logs and data.
    """

    _kubelet: Kubelet
    cluster: ControlPlane
    machine: Namespaces
    slot: Slot
    folder: Path

    def __init__(
        self,
        folder: Path | None = None,
        *,
        gpus: int = 0,
        feature_gates: Mapping[str, bool] | None = None,
        apis: Sequence[str] = (),
    ) -> None:
        """Describe the node.

        Args:
            folder: An empty folder, which stays afterwards. By default, a temporary folder, which is removed.
            gpus: The number of GPUs in the node's status, of the product GPU_PRODUCT.
            feature_gates: The feature gates of the ControlPlane.
            apis: The APIs of the ControlPlane.
        """
        self._folder, self._gpus = folder, gpus
        self._gates, self._apis = feature_gates, apis
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        for name in PROGRAMS:
            if not shutil.which(name):
                raise MissingRequirementError(f"needs {name}, which `make e2e` installs on Debian")
        if os.geteuid():
            raise MissingRequirementError("needs root")
        check_free_space(_FOLDER)
        base = examples.base()
        began = time.monotonic()
        with ExitStack() as started:
            _FOLDER.mkdir(parents=True, exist_ok=True)
            self.slot = slot = started.enter_context(free_slot(_FOLDER))
            store = started.enter_context(_empty(slot.store(_FOLDER)))
            self.folder = self._folder or Path(started.enter_context(tempfile.TemporaryDirectory(prefix="tfgen-node-")))
            started.enter_context(_control_groups(slot.name))
            if not _BRIDGE_SETTINGS.exists():
                Command(("modprobe", "br_netfilter")).run()
            self.machine = started.enter_context(Namespaces())
            self.machine.connect(slot)
            for setting in ("net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables"):
                self.machine.run("sysctl", "--write", f"{setting}=1")
            copy_store(base.store, store)
            fake = {**fake_node(FAKE), "spec": {"taints": [FAKE_TAINT]}}
            self.cluster = started.enter_context(
                ControlPlane(
                    self.folder / "cluster",
                    address=slot.outside,
                    services=slot.services,
                    nodes=[fake],
                    feature_gates=self._gates,
                    apis=self._apis,
                )
            )
            started.callback(self.machine.end)  # open connections of the pods would delay the end of the API server
            self._start()
            self._exit = started.pop_all()
        record_start("real node, with its control plane", time.monotonic() - began)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._exit.close()

    @property
    def client(self) -> Client:
        """Return the client of the administrator."""
        return self.cluster.client

    def volume(self, claim: str, namespace: str) -> Path:
        """Create the volume of a claim of the class STORAGE_CLASS, and return its folder on this machine.

        The volume is `local`; the kubelet sets its group to the pods' `fsGroup`.
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
        """Return the conditions that keep the node from running new pods, or an empty text if the node is healthy."""
        node = self.client.find("Node", NAME)
        if not node:
            return f"Node {NAME} does not exist"
        conditions = {condition["type"]: condition for condition in node["status"].get("conditions", ())}
        if "Ready" not in conditions:
            return f"Node {NAME} has no condition Ready"
        return "; ".join(
            f"{name} is {condition['status']}: {condition.get('message', '')}"
            for name, condition in conditions.items()
            if condition["status"] != ("True" if name == "Ready" else "False")
        )

    def left_behind(self) -> list[Path]:
        """Return the leftovers of the node on this machine, after the end of the node."""
        group = self.slot.name
        places = [
            Path("/sys/class/net") / group,
            self.slot.store(_FOLDER),
            *_CGROUPS.glob(group),
            *_CGROUPS.glob(f"*/{group}"),
        ]
        return [place for place in places if place.exists()]

    def load(self, image: oci.Image) -> None:
        """Load an image into the node, as a registry would serve the image."""
        self._containerd.load([image])

    @contextmanager
    def without_kubelet(self) -> Iterator[None]:
        """Stop the kubelet during the block, so that the node does not answer. The containers continue."""
        self._kubelet.stop()
        try:
            yield
        finally:
            self._kubelet.start().wait_until_ready()
            self._wait_until_ready()

    def logs(self, namespace: str) -> Iterator[tuple[Path, str]]:
        """Return the stored log of every start of every container of a namespace, with its file.

        The file is NAMESPACE_POD_UID/CONTAINER/START.log, each of its lines TIME STREAM TAG TEXT.
        """
        for path in sorted((self.folder / "pods").glob(f"{namespace}_*/*/*.log")):
            # The kubelet may delete the files of a released task at any moment.
            with suppress(FileNotFoundError):
                lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
                yield path, "".join(f"{line.split(' ', 3)[-1]}\n" for line in lines)

    def _start(self) -> None:
        cluster, folder, machine, slot = self.cluster, self.folder, self.machine, self.slot
        network = PodNetwork(slot.pods, routes=(slot.services, slot.cable))
        self._containerd = Containerd(folder / "containerd", machine, slot.store(_FOLDER), network)
        cluster.start(self._containerd).wait_until_ready()
        base = examples.base()
        images = [examples.image(example, base, folder) for example in examples.FOLDERS]
        self._containerd.load([core_dns.image(folder), *images])
        cluster.client.apply_all(core_dns.objects(slot.dns))
        labels = {"nvidia.com/gpu.product": GPU_PRODUCT} if self._gpus else {}
        self._kubelet = Kubelet(folder, machine, slot, NAME, cluster.url, cluster.authority, labels)
        servers = (
            self._kubelet,
            KubeProxy(folder, machine, NAME, cluster.url, cluster.authority),
            NetworkPolicyDouble(folder, machine, cluster.admin, slot.pods),
        )
        for server in servers:
            cluster.start(server)
        for server in servers:
            server.wait_until_ready()
        self._wait_until_ready()
        eventually(self._has_names, "CoreDNS")

    def _wait_until_ready(self) -> None:
        """Wait until the node is ready, and set its GPUs: a kubelet that starts resets them."""
        eventually(self._is_ready, "a ready node")
        if self._gpus:
            room = {"nvidia.com/gpu": str(self._gpus)}
            status = {"status": {"capacity": room, "allocatable": room}}
            self.client.patch("Node", NAME, None, status, subresource="status")

    def _is_ready(self) -> bool:
        return not self.problem()

    def _has_names(self) -> bool:
        return bool(self.client.get("Deployment", "coredns", core_dns.NAMESPACE)["status"].get("availableReplicas"))


@contextmanager
def _empty(folder: Path) -> Iterator[Path]:
    """Remove a folder before and after the block. A killed node may have left the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _control_groups(name: str) -> Iterator[None]:
    """Create a control group for the pods in every hierarchy, and remove the group afterwards."""
    hierarchies = [_CGROUPS] if (_CGROUPS / "cgroup.controllers").exists() else [*_CGROUPS.iterdir()]
    groups = [hierarchy / name for hierarchy in hierarchies if not hierarchy.is_symlink()]
    for group in groups:
        group.mkdir(exist_ok=True)
        shares = group / "cpu.shares"
        if shares.exists():  # by default, the group has the share of a single process of this machine
            shares.write_text(str(_CPU_SHARES * (os.cpu_count() or 1)), encoding="ascii")
    try:
        yield
    finally:
        for group in groups:
            # Only the folders of a group can be removed, not its files, and only after the last process has ended.
            eventually(partial(_removed, group), f"the end of {group}")


def _removed(group: Path) -> bool:
    subprocess.run(
        ("find", group, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"), capture_output=True, check=False
    )
    return not group.exists()
