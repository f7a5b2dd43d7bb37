"""The finisher at the end of a real training, with a Job status from the real exit codes of the chief.

The API server is scripted (tests/support/api_server.py), and knows only the status that the Job controller has written
at that time. The arguments are those of the rendered finisher. The tasks are the example's, as local processes.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from tests.support.api_server import ApiServer, ended
from tests.support.finisher import Finisher
from tests.support.local_cluster import Cluster, LocalCluster
from tests.support.tools import ROOT
from tests.support.training import TIMEOUT, local_cluster, rendered_cluster

CHIEF = "jobs/dist-mnist-chief"
SERVING = ("ps", "worker")
RELEASES = [f'patch statefulsets/dist-mnist-{role}/scale {{"spec": {{"replicas": 0}}}}' for role in SERVING]


def rendered_arguments() -> Sequence[str]:
    """Return the arguments of the finisher in the example's overlays."""
    path = ROOT / "overlays" / "dist-mnist" / "base" / "finisher.yaml"
    (container,) = yaml.safe_load(path.read_text(encoding="utf-8"))["spec"]["template"]["spec"]["containers"]
    arguments: Sequence[str] = container["args"]
    return arguments


@contextmanager
def serving() -> Iterator[ApiServer]:
    with ApiServer() as server:
        for role in SERVING:
            server.put(f"statefulsets/dist-mnist-{role}", {"spec": {"replicas": 1}})
        yield server


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with serving() as server:
        yield server


@pytest.fixture
def cluster(tmp_path: Path) -> LocalCluster:
    return local_cluster(tmp_path, tmp_path / "model", steps=400, cluster=smallest_cluster())


def smallest_cluster() -> Cluster:
    """Return the example's cluster with one worker, because each TensorFlow takes seconds to start."""
    cluster = rendered_cluster()
    return {**cluster, "worker": cluster["worker"][:1]}


def patches(server: ApiServer) -> Sequence[str]:
    return [request for request in server.requests if request.startswith("patch")]


def test_a_chief_that_fails_and_comes_back_releases_the_rest_once_it_is_done(
    server: ApiServer, cluster: LocalCluster, tmp_path: Path
) -> None:
    finisher = Finisher(server, tmp_path / "finisher.log", *rendered_arguments(), faster=1)
    with cluster, finisher:
        server.put(CHIEF, {"status": {"active": 1, "ready": 1}})
        cluster.wait_for_line(r"INFO step 100:", "chief", timeout=TIMEOUT)
        cluster.kill("chief")
        # The Job creates the next pod: a failure is not the end while retries are left.
        server.put(CHIEF, {"status": {"failed": 1}})
        cluster.start("chief")
        server.put(CHIEF, {"status": {"active": 1, "ready": 1, "failed": 1}})
        assert cluster.wait("chief", timeout=TIMEOUT) == 0
        assert patches(server) == []
        server.put(CHIEF, {"status": {**ended("SuccessCriteriaMet", "Complete"), "succeeded": 1, "failed": 1}})
        for request in RELEASES:
            server.wait_for(request)
        # The servers have run until now, and end at SIGTERM, as they do when their StatefulSet is scaled to 0.
        codes = cluster.stop()
        assert {name.partition("-")[0] for name in codes} == {*SERVING}
        assert set(codes.values()) == {0}
        assert finisher.end() == 0
    assert patches(server) == RELEASES
    assert all(server.get(f"statefulsets/dist-mnist-{role}")["spec"]["replicas"] == 0 for role in SERVING)
    # On a busy machine, a request may time out, and the finisher tries again.
    assert [line for line in finisher.log if "trying again" not in line] == [
        f"{CHIEF}: waiting for its end",
        f"{CHIEF}: is Complete",
        "finisher: keeps the StatefulSets at 0 for 0 s",
        *(f"statefulsets/dist-mnist-{role}: scaled to 0" for role in SERVING),
        "finisher: all tasks are released",
    ]


def test_a_chief_that_fails_for_good(tmp_path: Path) -> None:
    """A training has two finishers: the first releases the tasks of a failed run, and the second keeps the tasks."""
    steps = 1_000_000  # more than the training reaches
    cluster = local_cluster(tmp_path, tmp_path / "model", steps, smallest_cluster())
    arguments = [text for text in rendered_arguments() if not text.startswith("--on-failure")]
    with ExitStack() as stack:
        servers = {on_failure: stack.enter_context(serving()) for on_failure in ("Release", "Keep")}
        for server in servers.values():
            server.put(CHIEF, {"status": {"active": 1, "ready": 1}})
        finishers = [
            stack.enter_context(
                Finisher(server, tmp_path / f"{on_failure}.log", *arguments, f"--on-failure={on_failure}", faster=1)
            )
            for on_failure, server in servers.items()
        ]
        stack.enter_context(cluster)
        cluster.wait_for_line(r"INFO step 100:", "chief", timeout=TIMEOUT)
        cluster.kill("chief")
        assert cluster.wait("chief", timeout=TIMEOUT) == -signal.SIGKILL
        for server in servers.values():
            server.put(CHIEF, {"status": {**ended("FailureTarget", "Failed"), "failed": 1}})
        assert [finisher.end() for finisher in finishers] == [0, 0]
        assert {name.partition("-")[0] for name in cluster.stop()} == {*SERVING}
        assert all(f"{CHIEF}: is Failed" in finisher.log for finisher in finishers)
    assert {name: patches(server) for name, server in servers.items()} == {"Release": RELEASES, "Keep": []}
