"""A large job, and many small jobs: all pods become ready. The tests print times and memory, without a limit.

make nightly PYTEST_ARGS='-k scale -rP'
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.client import eventually
from tests.e2e.conftest import up
from tests.e2e.control_plane import ControlPlane, fake_node
from tests.e2e.jobs import write_job
from tests.e2e.kubelet import environment

pytestmark = [
    pytest.mark.xdist_group("scale"),  # one cluster for all tests of this module
    pytest.mark.nightly,
]

LARGE = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: dist-mnist}
spec:
  image: registry.example.com/mnist:1
  roles:
    chief: {}
    ps: {replicas: 50}
    worker: {replicas: 1000, resources: {gpu: {count: 1}}}
"""

SMALL = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  image: registry.example.com/mnist:1
  roles:
    chief: {}
    ps: {replicas: 1}
    worker: {replicas: 1}
"""

PATIENCE = 1800.0
"""The number of seconds to wait: a machine with two cores needs minutes for the 1,000 pods of 250 jobs."""

JOBS = 250


@pytest.fixture(scope="module")
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster of 150 nodes with eight GPUs each."""
    nodes = [fake_node(f"node-{number}", gpus=8) for number in range(150)]
    with up(request, ControlPlane(tmp_path_factory.mktemp("large"), nodes=nodes)) as cluster:
        yield cluster


def test_scale_of_one_job(large: ControlPlane, tmp_path: Path) -> None:
    """Apply a job with a thousand workers and fifty parameter servers."""
    overlay = write_job(LARGE, tmp_path).overlay(None)
    namespace = large.namespace("one-large-job")
    began = time.monotonic()
    large.kubectl("apply", "--server-side", "-n", namespace, "-k", overlay)
    _await_ready(large, 1000 + 50 + 1 + 1, namespace)
    print(f"a job of 1,051 tasks is ready after {time.monotonic() - began:.0f} s; {_memory(large)}")
    last = large.client.get("Pod", "dist-mnist-worker-999", namespace)
    config = environment(large.client, last)["TF_CONFIG"]
    assert json.loads(config)["task"] == {"type": "worker", "index": 999}
    assert {role: len(hosts) for role, hosts in json.loads(config)["cluster"].items()} == {
        "chief": 1,
        "ps": 50,
        "worker": 1000,
    }
    print(f"its TF_CONFIG has {len(config):,} of 131,071 bytes")


def test_scale_of_many_jobs(large: ControlPlane, tmp_path: Path) -> None:
    """Apply many small jobs at once, each with a chief, a ps, a worker and a finisher."""
    namespace = large.namespace("many-jobs")
    small = [*write_job(SMALL, tmp_path).by_tfgen(None).values()]
    stream = "\n---\n".join(
        json.dumps(obj).replace("small", f"small-{number:03}") for number in range(JOBS) for obj in small
    )
    began = time.monotonic()
    large.kubectl("create", "-n", namespace, "-f", "-", stdin=stream, timeout=PATIENCE)
    made = time.monotonic()
    _await_ready(large, JOBS * 4, namespace)
    print(
        f"{JOBS} jobs of 3 tasks are {len(small) * JOBS:,} objects, made in {made - began:.0f} s; "
        f"all are ready after {time.monotonic() - began:.0f} s; {_memory(large)}"
    )
    assert len({pod["metadata"]["labels"]["tfgen/job"] for pod in large.client.list("Pod", namespace)}) == JOBS


def _await_ready(cluster: ControlPlane, number: int, namespace: str) -> None:
    def ready() -> int:
        sets = (each["status"].get("readyReplicas", 0) for each in cluster.client.list("StatefulSet", namespace))
        jobs = (each["status"].get("ready", 0) for each in cluster.client.list("Job", namespace))
        return int(sum(sets) + sum(jobs))

    # The controllers count the pods. A list of a thousand pods has 40 MB, and overloads a small machine.
    eventually(lambda: ready() == number, f"{number} ready pods", PATIENCE, pause=3)


def _memory(cluster: ControlPlane) -> str:
    """Return the memory of each server as text."""
    return ", ".join(f"{server.name} {server.memory() // 2**20} MiB" for server in cluster.processes)
