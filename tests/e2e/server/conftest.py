"""Clusters that modules share, accounts with the Roles of the tests, and a faulty server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.e2e.conftest import up
from tests.e2e.control_plane import GANG_API, GANG_SCHEDULING, ControlPlane, fake_node
from tests.e2e.server.live import role
from tests.e2e.servers.faulty_proxy import FaultyProxy

FOLDER = Path(__file__).parent
CLUSTERS = {"cluster", "gang_cluster", "whole_cluster"}
"""The fixtures that start a control plane for several modules."""

SECOND_CLUSTER = ("test_finisher", "test_released", "test_tf_config", "test_quota", "test_immutable")
"""The modules that use the second cluster. They take about as long as all other modules that request `cluster`."""


@pytest.hookimpl(tryfirst=True)  # before xdist's own hook, which reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests that share a control plane in one process, and those that need only a namespace in two."""
    for item in items:
        if item.path.is_relative_to(FOLDER):
            for fixture in CLUSTERS.intersection(getattr(item, "fixturenames", ())):
                second = fixture == "cluster" and item.path.stem in SECOND_CLUSTER
                item.add_marker(pytest.mark.xdist_group("second-cluster" if second else fixture))


@pytest.fixture(scope="session")
def gang_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start a control plane with Kubernetes' own gang scheduling, a beta of 1.37, and with eight GPUs in all."""
    nodes = [fake_node(f"node-{number}", gpus=4) for number in range(2)]
    folder = tmp_path_factory.mktemp("gang-cluster")
    with up(request, ControlPlane(folder, nodes=nodes, feature_gates=GANG_SCHEDULING, apis=GANG_API)) as control_plane:
        yield control_plane


@pytest.fixture(scope="session")
def whole_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start a control plane for the tests that need all nodes. A node that accepts no pods is the only node."""
    described = ControlPlane(tmp_path_factory.mktemp("whole-cluster"), nodes=[fake_node("of-no-case")])
    with up(request, described) as control_plane:
        control_plane.kubectl("cordon", "of-no-case")
        yield control_plane


@pytest.fixture
def account(cluster: ControlPlane, namespace: str) -> Callable[..., Path]:
    """Return a function that creates the account of the test, adds a Role, and returns the account's kubeconfig."""
    name = f"viewer-{uuid4().hex[:8]}"  # tests may share a namespace

    def make(rules: dict[str, object] | None) -> Path:
        cluster.client.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}, namespace)
        if rules is not None:
            kind = rules["kind"]
            cluster.client.apply({**rules, "metadata": {"name": name}}, namespace)
            binding = {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": f"{kind}Binding",
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
            }
            cluster.client.apply(binding, namespace)
        return cluster.service_account(name, namespace)

    return make


@pytest.fixture
def proxy(cluster: ControlPlane) -> Iterator[FaultyProxy]:
    with FaultyProxy(cluster.url, cluster.authority.certificate, cluster.address) as server:
        yield server


@pytest.fixture
def through(cluster: ControlPlane, proxy: FaultyProxy, account: Callable[..., Path], tmp_path: Path) -> Path:
    """Write the kubeconfig of an account with the Role of `tfgen status`, through the proxy."""
    text = account(role("status")).read_text(encoding="utf-8").replace(cluster.url, proxy.url)
    path = tmp_path / "proxy.kubeconfig"
    path.write_text(text, encoding="utf-8")
    return path
