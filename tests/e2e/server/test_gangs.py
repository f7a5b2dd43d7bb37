"""Gangs on a busy cluster: no job occupies nodes with a part of its gang for long, and each job runs in the end.

The tests use Kubernetes' own gang scheduling, a beta of 1.37, on fake nodes with fake GPUs. If VOLCANO_BIN is a
folder with the programs vc-scheduler, vc-controller-manager and vc-webhook-manager, and with the definitions of its
kinds in `crds`, the tests also use Volcano.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.client import Client, Object, eventually
from tests.e2e.conftest import up
from tests.e2e.control_plane import ControlPlane, fake_node
from tests.e2e.custom_kinds import operators_definitions
from tests.e2e.gangs import MOMENTS, TASKS, GangWatch, holds_a_place, tasks
from tests.e2e.jobs import write_job
from tests.e2e.kubelet import end
from tests.e2e.servers.volcano import start_volcano

pytestmark = pytest.mark.xdist_group("gang_cluster")  # which the fixture `gpus` requests

nightly = pytest.mark.nightly

JOB = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: mnist}}
spec:
  image: registry.example.com/mnist:1
  roles:
    chief: {{resources: {{cpu: 1, gpu: {{count: 1}}}}}}
    ps: {{replicas: {ps}, resources: {{cpu: 1}}}}
    worker: {{replicas: {workers}, resources: {{cpu: 1, gpu: {{count: 1}}}}}}
  gang: {gang}
"""

SCHEDULERS = {"kubernetes": "{scheduler: kubernetes, apiVersion: v1beta1}", "volcano": "{scheduler: volcano}"}


@pytest.fixture(
    scope="module",
    params=[
        "kubernetes",
        pytest.param("volcano", marks=pytest.mark.operators),
    ],
)
def scheduler(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name == "volcano" and not os.environ.get("VOLCANO_BIN"):
        pytest.skip("VOLCANO_BIN names no folder with Volcano's programs")
    if name == "volcano" and not operators_definitions(Path(os.environ["VOLCANO_BIN"]), "volcano.sh"):
        pytest.skip("neither a folder crds beside the programs nor ../shared/crds has Volcano's kinds")
    return name


@pytest.fixture(scope="module")
def gpus(
    scheduler: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A cluster with eight GPUs in all."""
    if scheduler == "kubernetes":
        yield request.getfixturevalue("gang_cluster")
        return
    nodes = [fake_node(f"node-{number}", gpus=4) for number in range(2)]
    programs = Path(os.environ["VOLCANO_BIN"])
    with up(request, ControlPlane(tmp_path_factory.mktemp("gpus"), nodes=nodes)) as cluster:
        cluster.install(operators_definitions(programs, "volcano.sh"))
        start_volcano(cluster, programs)
        yield cluster


@dataclass(frozen=True)
class Training:
    """A job in its own namespace."""

    client: Client
    namespace: str
    size: int

    def is_whole(self) -> bool:
        """Test whether all tasks of the job run."""
        running = [pod for pod in tasks(self.client, self.namespace) if pod["status"].get("phase") == "Running"]
        return len(running) == self.size

    def holds(self) -> int:
        """Count the tasks of the job that occupy a node."""
        return sum(map(holds_a_place, tasks(self.client, self.namespace)))

    def complete(self, watch: GangWatch) -> None:
        """End the chief, and release the other tasks like the finisher."""
        watch.ended(self.namespace)
        (chief,) = self.client.list("Pod", self.namespace, labels="tfgen/role=chief")
        end(self.client, chief)
        for role in ("ps", "worker"):
            self.client.patch(
                "StatefulSet", f"mnist-{role}", self.namespace, {"spec": {"replicas": 0}}, subresource="scale"
            )


Start = Callable[..., Training]


@pytest.fixture
def start(gpus: ControlPlane, scheduler: str, tmp_path: Path) -> Iterator[Start]:
    """Return a function that applies a job to a new namespace. After the test, delete the namespaces."""
    _await_free_nodes(gpus.client)
    namespaces: list[str] = []

    def started(namespace: str, workers: int, ps: int = 2, *, gang: str = SCHEDULERS[scheduler]) -> Training:
        text = JOB.format(workers=workers, ps=ps, gang=gang)
        namespaces.append(gpus.namespace(namespace))
        overlay = write_job(text, tmp_path / namespace).overlay(None)
        gpus.kubectl("apply", "--server-side", "-n", namespace, "-k", overlay)
        return Training(gpus.client, namespace, 1 + ps + workers)

    yield started
    for namespace in namespaces:
        gpus.client.delete("Namespace", namespace)
    _await_free_nodes(gpus.client)


def _await_free_nodes(client: Client) -> None:
    eventually(lambda: not [pod for pod in client.list("Pod") if holds_a_place(pod)], "free nodes")


@nightly
def test_without_a_gang_two_jobs_block_each_other(gpus: ControlPlane, start: Start) -> None:
    """Two jobs without gangs start in part and block each other forever, which proves the tests of gangs."""
    names = ("free-a", "free-b")
    with GangWatch(gpus.client, dict.fromkeys(names, 8)) as watch:
        a, b = (start(name, workers=5, gang="{enabled: false, scheduler: kubernetes}") for name in names)
        eventually(lambda: any(gang.longest_part > MOMENTS for gang in watch.gangs.values()), "a part that stays")
    assert not (a.is_whole() and b.is_whole())
    with pytest.raises(AssertionError):
        watch.assert_never_stuck()


def test_two_jobs_that_fit_one_at_a_time(gpus: ControlPlane, start: Start) -> None:
    """The replacement of a lost worker gets the place of the worker, also while the other job waits."""
    with GangWatch(gpus.client, {"two-a": 8, "two-b": 8}) as watch:
        trainings = [start("two-a", workers=5), start("two-b", workers=5)]
        first = eventually(lambda: next((each for each in trainings if each.is_whole()), None), "the first")
        (second,) = (each for each in trainings if each is not first)
        assert second.holds() == 0
        lost = gpus.client.get("Pod", "mnist-worker-3", first.namespace)
        gpus.client.evict("mnist-worker-3", first.namespace)
        eventually(lambda: _is_another(gpus.client.find("Pod", "mnist-worker-3", first.namespace), lost), "another")
        eventually(first.is_whole, "all tasks again")
        assert second.holds() == 0
        first.complete(watch)
        eventually(second.is_whole, "the second")
    watch.assert_never_stuck()


def test_a_job_that_can_never_fit(gpus: ControlPlane, start: Start) -> None:
    """A job that cannot fit occupies no node and blocks no other job."""
    with GangWatch(gpus.client, {"huge": 12, "small": 6}) as watch:
        huge = start("huge", workers=9)
        eventually(lambda: len(tasks(gpus.client, "huge")) == huge.size, "its pods")
        small = start("small", workers=3)
        eventually(small.is_whole, "the small job")
        assert huge.holds() == 0
        small.complete(watch)
    watch.assert_never_stuck()
    assert watch.gangs["huge"].most == 0


PRIORITY = """  priorityClassName: training
  priorityClasses: {{training: {{value: 1000}}}}
"""


def test_a_gang_with_a_priority_starts(gpus: ControlPlane, start: Start, scheduler: str, tmp_path: Path) -> None:
    """Kubernetes 1.37 starts no gang whose PodGroup has another priority than its pods, so the PodGroup has it."""
    text = f"{JOB}{PRIORITY}".format(workers=3, ps=2, gang=SCHEDULERS[scheduler])
    overlay = write_job(text, tmp_path / "priority").overlay(None)
    for namespace, line in (("priority", ""), ("no-priority", "  priorityClassName: training\n")):
        file = overlay / "podgroup.yaml"
        group = file.read_text(encoding="utf-8")
        assert line in group
        file.write_text(group.replace(line, ""), encoding="utf-8")
        gpus.namespace(namespace)
        gpus.kubectl("apply", "--server-side", "-n", namespace, "-k", overlay)
    try:
        with_priority, without = (Training(gpus.client, name, 6) for name in ("priority", "no-priority"))
        eventually(with_priority.is_whole, "the gang with a priority")
        eventually(lambda: "same priority" in _reason(gpus.client), "the reason of the other gang")
        assert without.holds() == 0
    finally:
        for namespace in ("priority", "no-priority"):
            gpus.client.delete("Namespace", namespace)
        _await_free_nodes(gpus.client)


def _reason(client: Client) -> str:
    group = client.get("scheduling.k8s.io/v1beta1/PodGroup", "mnist", "no-priority")
    return " ".join(condition.get("message", "") for condition in group.get("status", {}).get("conditions", ()))


@nightly
def test_twenty_jobs_in_any_order_and_size(gpus: ControlPlane, start: Start) -> None:
    """Each job runs in the end: all of its tasks run at once before it ends."""
    luck = random.Random(5)
    workers = {f"many-{number}": luck.randint(1, 7) for number in range(20)}
    waiting: dict[str, Training] = {}
    with GangWatch(gpus.client, {name: 1 + 2 + size for name, size in workers.items()}) as watch:
        for name, size in luck.sample([*workers.items()], len(workers)):
            waiting[name] = start(name, workers=size)
        while waiting:
            whole = eventually(lambda: _whole(gpus.client, waiting), "one that runs")
            for name in whole:
                waiting.pop(name).complete(watch)
    watch.assert_never_stuck()


def _whole(client: Client, trainings: Mapping[str, Training]) -> list[str]:
    """Return the namespaces of the jobs whose tasks all run. One request finds the running tasks of all jobs."""
    running = Counter(
        pod["metadata"]["namespace"] for pod in client.list("Pod", labels=TASKS, fields="status.phase=Running")
    )
    return [name for name, training in trainings.items() if running[name] == training.size]


def _is_another(pod: Object | None, than: Object) -> bool:
    return bool(pod and pod["metadata"]["uid"] != than["metadata"]["uid"])
