"""Fixtures with a real node, a namespace for each test, and the logs of a failed test.

The tests of the folder form two groups. Each group has its own node, because the tests mostly wait: two nodes at the
same time shorten the run.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.client import eventually
from tests.e2e.conftest import RUNNING, dns_label
from tests.e2e.node.node_job import NodeJob
from tests.e2e.real_node import Node
from tests.e2e.servers.program import MissingRequirementError
from tests.e2e.slot import SLOTS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

FOLDER = Path(__file__).parent
GPUS = 3
SECOND_NODE = ("test_keras", "test_live", "test_preemption", "test_ps_evaluator", "test_runs", "test_tutorial")
"""The modules of the second group, which take about as long as all other modules."""
END = 600.0
"""The number of seconds in which a test's pods must end after the test."""


@pytest.hookimpl(tryfirst=True)  # before xdist's own hook, which reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(FOLDER):
            group = "node-2" if item.path.stem in SECOND_NODE else "node-1"
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def node(request: pytest.FixtureRequest) -> Iterator[Node]:
    """Start the node. Its GPUs are only a number in the node's status."""
    several = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1") != "1"
    if several and not request.config.getoption("loadgroup", default=False):
        pytest.fail(f"a machine runs at most {SLOTS} nodes, and each node needs one worker: pytest --dist loadgroup")
    running = request.config.stash.setdefault(RUNNING, [])
    with ExitStack() as stack:
        try:
            real = stack.enter_context(Node(gpus=GPUS))
        except MissingRequirementError as error:
            pytest.skip(str(error))
        running.append(real.cluster)
        yield real
        running.remove(real.cluster)
    assert not real.left_behind()


@pytest.fixture
def namespace(node: Node, request: pytest.FixtureRequest) -> Iterator[str]:
    """Create a test's own namespace, with Pod Security "restricted". Its pods end before the next test begins."""
    problem = node.problem()
    if problem:  # without this check, each of the remaining tests waits 15 minutes for its pods
        pytest.fail(f"the node runs no new pods: {problem}")
    name = node.cluster.namespace(dns_label(request.node.name))
    yield name
    node.client.delete("Namespace", name)
    eventually(lambda: not node.client.list("v1/Pod", name), f"the end of the pods of {name}", END)


@pytest.fixture
def job(node: Node, namespace: str, tmp_path: Path) -> Callable[..., NodeJob]:
    """Return a function that creates the job of an example: `job("dist-mnist", {"retries": 1})`; see NodeJob."""

    def make(example: str, environment: object = None, **more: object) -> NodeJob:
        return NodeJob(node, namespace, tmp_path, example, environment, **more)  # type: ignore[arg-type]

    return make


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    node, namespace = (getattr(item, "funcargs", {}).get(name) for name in ("node", "namespace"))
    if report.failed and report.when == "call" and node and namespace:
        kubectl = node.cluster.kubectl
        report.sections += [
            ("pods", kubectl("get", "pods", "--namespace", namespace, "--output=wide", "--show-labels")),
            ("events", kubectl("get", "events", "--namespace", namespace, "--sort-by=.metadata.creationTimestamp")),
            *((path.parent.parent.name, text) for path, text in node.logs(namespace)),
        ]
    return report
