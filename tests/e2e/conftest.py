"""Fixtures of the tests on real servers: clusters, and the logs of a failed test.

A test that needs a cluster requests the fixture `cluster`, and `namespace` for its objects. A test whose programs are
not built skips with the reason, and fails under CI.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.control_plane import GANG_API, GANG_SCHEDULING, ControlPlane, fake_node
from tests.e2e.finisher import Finisher
from tests.e2e.servers.program import MissingRequirementError
from tests.support.tools import CACHE

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

LONGEST = (
    "node",
    "gitops",
    *(f"server/test_{name}.py" for name in ("scale", "released", "live_changes", "gangs", "accepted", "tf_job")),
)
"""The folders and modules with the longest tests, in the order of their start."""

FOLDER = Path(__file__).parent

RUNNING = pytest.StashKey[list[ControlPlane]]()
"""The running clusters, whose logs a failed test shows."""


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start a control plane with capacity for any example: four fake nodes of 8 GPUs, in all 256 CPUs and 1 TiB."""
    nodes = [fake_node(f"node-{number}", gpus=8) for number in range(4)]
    with up(request, ControlPlane(tmp_path_factory.mktemp("cluster"), nodes=nodes)) as control_plane:
        yield control_plane


@pytest.fixture(scope="session")
def gang_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start the same control plane with Kubernetes' own gang scheduling, a beta of 1.37."""
    nodes = [fake_node(f"node-{number}", gpus=8) for number in range(4)]
    folder = tmp_path_factory.mktemp("gang-cluster")
    with up(request, ControlPlane(folder, nodes=nodes, feature_gates=GANG_SCHEDULING, apis=GANG_API)) as control_plane:
        yield control_plane


@pytest.fixture
def namespace(cluster: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    """Create a namespace for one test, which enforces Pod Security "restricted"."""
    name = cluster.namespace(dns_label(request.node.name))
    yield name
    cluster.client.delete("Namespace", name)


@pytest.fixture
def finisher(cluster: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Finisher]:
    """Return the finisher of the job that the test applies to its namespace."""
    made = Finisher(cluster, namespace, tmp_path)
    yield made
    if made.process:
        made.process.stop()


@pytest.fixture(autouse=True)
def kubectl(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let tfgen find the `kubectl` of the tests on the PATH. kubectl caches the kinds of a cluster in a folder."""
    monkeypatch.setenv("PATH", f"{CACHE}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("KUBECACHEDIR", str(tmp_path_factory.getbasetemp() / "kubectl"))


@contextmanager
def up(request: pytest.FixtureRequest, cluster: ControlPlane) -> Iterator[ControlPlane]:
    """Start a cluster for a fixture, and show its logs with every test that fails while the cluster runs."""
    running = request.config.stash.setdefault(RUNNING, [])
    with ExitStack() as stack:
        with skipped_without_requirements():
            stack.enter_context(cluster)
        running.append(cluster)
        yield cluster
        running.remove(cluster)


@contextmanager
def skipped_without_requirements() -> Iterator[None]:
    """Skip the test if the machine lacks a requirement of the block, such as a program."""
    try:
        yield
    except MissingRequirementError as error:
        pytest.skip(str(error))


def dns_label(text: str, limit: int = 63) -> str:
    """Return a text as the name of a namespace: at most `limit` small letters, digits and dashes.

    A shortened name ends in a digest, so that two long texts with the same beginning have different names.
    """
    label = re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")
    if len(label) <= limit:
        return label
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{label[: limit - 9].strip('-')}-{digest}"


@pytest.hookimpl(trylast=True)  # after pytest's own hook, which sorts by parameters
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests so that no worker begins with a long module when the others end."""
    items.sort(key=_rank)  # a sort keeps the order of equal items


def _rank(item: pytest.Item) -> int:
    if not item.path.is_relative_to(FOLDER):
        return -1
    path = item.path.relative_to(FOLDER).as_posix()
    return next((rank for rank, place in enumerate(LONGEST) if path.startswith(place)), len(LONGEST))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for cluster in item.config.stash.get(RUNNING, []):
            report.sections += [(f"{server.log}", server.tail()) for server in cluster.processes]
    return report
