"""A Kubernetes control plane of real components, on this machine's loopback network, ready in seconds.

    with ControlPlane(nodes=[fake_node("a", gpus=8)]) as cluster:
        cluster.client.apply(...)                           # as the administrator
        cluster.kubectl("apply", "-k", "overlays/dist-mnist/dev", "-n", cluster.namespace("ml"))

etcd, kube-apiserver, kube-controller-manager and kube-scheduler are real; KWOK replaces the kubelets. RBAC and Pod
Security admission are on, and every component is a user with its own certificate. Several control planes may run at
once: each has its own address and folder.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.e2e.client import Client, Object, eventually
from tests.e2e.loopback import LoopbackAddress
from tests.e2e.servers import controller_manager, scheduler
from tests.e2e.servers.api_server import SERVICES, ApiServer
from tests.e2e.servers.controller_manager import ControllerManager
from tests.e2e.servers.etcd import Etcd
from tests.e2e.servers.kubeconfig import write_kubeconfig
from tests.e2e.servers.kwok import ANNOTATION, Kwok
from tests.e2e.servers.pki import Authority
from tests.e2e.servers.process import Process
from tests.e2e.servers.program import program
from tests.e2e.servers.scheduler import Scheduler
from tests.support.command import WITHOUT_COLLECTION, Command
from tests.timings.plugin import record_start

GANG_SCHEDULING = {"GenericWorkload": True}
"""The feature gate of Kubernetes' own gang scheduling, beta in 1.37: KEP-4671. The gate needs the APIs of GANG_API."""
GANG_API = ("scheduling.k8s.io/v1beta1",)


def fake_node(name: str, *, cpu: int = 64, memory: str = "256Gi", gpus: int = 0, pods: int = 110) -> Object:
    """Return a Node whose kubelet is KWOK."""
    room = {"cpu": str(cpu), "memory": memory, "pods": str(pods)} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}, "annotations": ANNOTATION},
        "status": {"capacity": room, "allocatable": room},
    }


class ControlPlane:
    """The servers of a control plane and their operations, from `__enter__` to `__exit__`.

    Attributes:
        folder: the servers' logs, data and certificates, and all kubeconfig files.
        address: the address of all servers.
        authority: signs certificates for users and for other servers.
        client: the client of the administrator.
        processes: the running servers, in the order of their start.
    """

    authority: Authority
    client: Client

    def __init__(
        self,
        folder: Path | None = None,
        *,
        nodes: Sequence[Object] = (),
        feature_gates: Mapping[str, bool] | None = None,
        apis: Sequence[str] = (),
        address: str = "",
        services: str = SERVICES,
    ) -> None:
        """Describe the cluster.

        Args:
            folder: An empty folder, which stays afterwards. By default, a temporary folder, which is removed.
            nodes: The nodes from the start; see `fake_node`. KWOK runs only if there are nodes.
            feature_gates: For the API server, the controllers and the scheduler.
            apis: Groups and versions to serve besides the usual ones, such as scheduling.k8s.io/v1beta1.
            address: The address of the servers. By default, a free loopback address.
            services: The network of the Services.
        """
        self.processes: list[Process] = []
        self.address = address
        self._folder = folder
        self._services = services
        self._nodes = list(nodes)
        gates = ",".join(f"{name}={str(on).lower()}" for name, on in (feature_gates or {}).items())
        self._gates = [f"--feature-gates={gates}"] if gates else []
        self._apis = [f"--runtime-config={','.join(f'{api}=true' for api in apis)}"] if apis else []
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        began = time.monotonic()
        with ExitStack() as started:  # a failed start ends all servers that are already started
            if self._folder is None:
                temporary = tempfile.TemporaryDirectory(prefix="tfgen-e2e-", ignore_cleanup_errors=True)
                self.folder = Path(started.enter_context(temporary))
            else:
                self.folder = self._folder
            if not self.address:
                self.address = started.enter_context(LoopbackAddress()).text
            started.callback(self._stop_all)
            self._start_servers()
            started.callback(self.client.close)
            self._await_first_objects()
            self._exit = started.pop_all()
        record_start("control plane, with its nodes", time.monotonic() - began)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._exit.close()

    def start(self, process: Process) -> Process:
        """Start another server, which ends with the cluster. The caller waits until the server is ready."""
        self.processes.append(process)
        return process.start()

    def restart_api_server(self) -> None:
        """Stop the API server and start it again. etcd has the data."""
        self._api_server.stop()
        self._api_server.start().wait_until_ready()

    @property
    def admin(self) -> Path:
        """Return the path of the administrator's kubeconfig file."""
        return self.folder / "admin.kubeconfig"

    def user(self, name: str, groups: Sequence[str] = ()) -> Path:
        """Write the kubeconfig file of a user with the RBAC permissions of the name and of the groups."""
        return self._kubeconfig(name.replace(":", "-"), name, groups)

    def service_account(self, name: str, namespace: str) -> Path:
        """Write the kubeconfig file of a service account, with a new token."""
        path = self.folder / f"{namespace}-{name}.kubeconfig"
        return write_kubeconfig(path, self.url, self.authority.certificate, self.client.token(name, namespace))

    def kubectl(self, *args: str | Path, user: Path | None = None, stdin: str = "", timeout: float = 1800) -> str:
        """Return the output of `kubectl ARGS...` within `timeout` seconds, as the administrator or as another user.

        Raises:
            CommandError: kubectl fails.
        """
        argv = (program("kubectl"), f"--kubeconfig={user or self.admin}", f"--cache-dir={self.folder / 'kubectl'}")
        return Command((*argv, *args), env=WITHOUT_COLLECTION, stdin=stdin).run(timeout=timeout)

    def namespace(self, name: str, profile: str = "restricted") -> str:
        """Create a namespace that enforces a Pod Security profile. Return its name when pods can be created there."""
        labels = {"pod-security.kubernetes.io/enforce": profile}
        self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        eventually(lambda: self.client.find("ServiceAccount", "default", name), f"namespace {name}'s service account")
        return name

    def add_nodes(self, nodes: Iterable[Object]) -> None:
        """Create nodes, and return when the nodes are ready."""
        names = {_name(self.client.create(node)) for node in nodes}
        eventually(lambda: names <= {_name(node) for node in self.client.list("Node") if _is_ready(node)}, "nodes")

    def install(self, definitions: Iterable[Object]) -> None:
        """Apply CustomResourceDefinitions, and return when the server serves their kinds."""
        applied = [self.client.apply(definition, force=True) for definition in definitions]
        names = {_name(definition) for definition in applied}
        kinds = {
            (f"{definition['spec']['group']}/{version['name']}", definition["spec"]["names"]["kind"])
            for definition in applied
            for version in definition["spec"]["versions"]
            if version["served"]
        }

        def established() -> bool:
            there = self.client.list("CustomResourceDefinition")
            return names <= {_name(definition) for definition in there if has_condition(definition, "Established")}

        eventually(established, f"the kinds of {', '.join(sorted(names))}")
        # The discovery document lists the kinds a little later.
        eventually(lambda: all(self.client.lists(*kind) for kind in kinds), f"the list of {', '.join(sorted(names))}")

    def uninstall(self) -> None:
        """Remove all CustomResourceDefinitions, and return when the server serves none of their kinds."""
        there = [definition["spec"] for definition in self.client.list("CustomResourceDefinition")]
        kinds = [
            (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
            for spec in there
            for version in spec["versions"]
        ]
        for spec in there:
            self.client.delete("CustomResourceDefinition", f"{spec['names']['plural']}.{spec['group']}")
        eventually(lambda: not any(self.client.lists(*kind) for kind in kinds), "the end of the custom kinds")
        self.client.forget_kinds()

    @property
    def url(self) -> str:
        """Return the URL of the API server."""
        return self._api_server.url

    def _start_servers(self) -> None:
        folder, address = self.folder, self.address
        self.authority = authority = Authority(folder / "pki")
        token_keys = authority.signing_key("service-account")
        etcd = Etcd(folder, address)
        self.start(etcd).wait_until_ready()
        self._api_server = ApiServer(
            folder,
            address,
            etcd,
            authority,
            token_keys,
            self._services,
            [*self._gates, *self._apis],
        )
        self.start(self._api_server)
        self._kubeconfig("admin", "admin", ["system:masters"])
        self._api_server.wait_until_ready()
        self.client = Client(self.admin)
        rest: list[Process] = [
            ControllerManager(
                folder,
                address,
                self.user(controller_manager.USER),
                authority,
                token_keys,
                self._gates,
            ),
            Scheduler(
                folder,
                address,
                self.user(scheduler.USER),
                authority,
                self._gates,
            ),
        ]
        if self._nodes:
            rest.append(Kwok(folder, address, self.admin))
        for process in rest:
            self.start(process)
        for process in rest:
            process.wait_until_ready()

    def _await_first_objects(self) -> None:
        eventually(lambda: self.client.find("ServiceAccount", "default", "default"), "the first service account")
        self.add_nodes(self._nodes)

    def _stop_all(self) -> None:
        for process in reversed(self.processes):
            process.stop()

    def _kubeconfig(self, stem: str, name: str, groups: Sequence[str]) -> Path:
        certificate = self.authority.user(name, groups)
        return write_kubeconfig(self.folder / f"{stem}.kubeconfig", self.url, self.authority.certificate, certificate)


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def _is_ready(node: Object) -> bool:
    # A new node has a taint until the controllers have seen that the node is ready.
    taints = node["spec"].get("taints", ())
    return has_condition(node, "Ready") and not any(taint["key"].startswith("node.kubernetes.io/") for taint in taints)


def has_condition(obj: Object, name: str) -> bool:
    """Test whether a condition of an object, such as Ready, is True."""
    conditions = obj.get("status", {}).get("conditions") or ()
    return any(condition["type"] == name and condition["status"] == "True" for condition in conditions)
