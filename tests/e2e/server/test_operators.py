"""The operators' own controllers and webhooks accept rendered jobs, also a second time, and behave as documented.

VOLCANO_BIN, JOBSET_BIN and KUEUE_BIN are folders with their programs. No version of these operators is published as a
Go module that builds, so CI skips these tests, and `make operators` runs them. The kinds are those of ../shared/crds,
or of the folder `crds` beside the programs. tests/check/test_webhook_defaults.py tests the changes of the webhooks
without the operators.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.e2e.client import Client, Object, eventually
from tests.e2e.conftest import dns_label, up
from tests.e2e.control_plane import ControlPlane, fake_node
from tests.e2e.custom_kinds import REAL, definitions, operators_definitions
from tests.e2e.finisher import running
from tests.e2e.jobs import write_job
from tests.e2e.servers.job_set import job_set_controller
from tests.e2e.servers.kueue import NAMESPACE as KUEUE
from tests.e2e.servers.kueue import kueue_controllers
from tests.e2e.servers.training_operator import TrainingOperator
from tests.e2e.servers.volcano import start_volcano
from tests.e2e.ways import WAYS
from tests.support.command import CommandError
from tests.support.rendered import Rendered
from tfgen import cli

pytestmark = [
    pytest.mark.xdist_group("operators"),  # one cluster for all tests of an operator
    pytest.mark.operators,
]

VOLCANO = "batch.volcano.sh/v1alpha1/Job"
JOB_SET = "jobset.x-k8s.io/v1alpha2/JobSet"
SELECTOR = {"kubernetes.io/hostname": "node"}
TAKES_OUT = ("kubectl-apply",)
"""The ways that remove fields from a list of a custom kind if git does not have the fields."""
PODS = 6
"""The number of pods of each job: a chief, two ps, two workers and an evaluator."""


class Operator(NamedTuple):
    """Operator that the tests run.

    Attributes:
        folders: the environment variables that name the folders of its programs.
        groups: the suffix of the groups of the kinds, for each folder.
        start: starts the operator in a cluster that serves these kinds, given these folders.
        kind: the kind of its jobs.
        spec: the part of a job's spec that selects this kind.
    """

    folders: tuple[str, ...]
    groups: tuple[str, ...]
    start: Callable[..., None]
    kind: str
    spec: Mapping[str, Any]


def _start_job_set(cluster: ControlPlane, programs: Path) -> None:
    cluster.start(job_set_controller(cluster, programs)).wait_until_ready()


def _start_kueue(cluster: ControlPlane, job_set: Path, kueue: Path) -> None:
    """Start JobSet and Kueue, with a quota for nodes of one name. Kueue adds this name to the pods' node selector."""
    _start_job_set(cluster, job_set)
    _start_kueue_alone(cluster, kueue)


def _start_kueue_alone(cluster: ControlPlane, kueue: Path) -> None:
    cluster.namespace(KUEUE)
    cluster.start(kueue_controllers(cluster, kueue)).wait_until_ready()
    quotas = [{"name": name, "nominalQuota": quota} for name, quota in (("cpu", 100), ("memory", "1Ti"))]
    flavors = [{"name": "named", "resources": quotas}]
    queue = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": flavors}],
    }
    for kind, name, spec in (
        ("ResourceFlavor", "named", {"nodeLabels": SELECTOR}),
        ("ClusterQueue", "all", queue),
    ):
        version = "kueue.x-k8s.io/v1beta2"
        cluster.client.apply({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})


def _start_kueue_with_tf_jobs(cluster: ControlPlane, kueue: Path) -> None:
    cluster.install(definitions(cluster.client, [{"apiVersion": "kubeflow.org/v1", "kind": "TFJob"}]))
    kubeconfig = cluster.kubectl("config", "view", "--raw", "--flatten")
    cluster.start(TrainingOperator(cluster.folder, cluster.address, kubeconfig, cluster.client)).wait_until_ready()
    _start_kueue_alone(cluster, kueue)


OPERATORS = {
    "volcano": Operator(
        ("VOLCANO_BIN",), ("volcano.sh",), start_volcano, VOLCANO, {"workload": {"kind": "VolcanoJob"}}
    ),
    "jobset": Operator(
        ("JOBSET_BIN",), ("jobset.x-k8s.io",), _start_job_set, JOB_SET, {"workload": {"kind": "JobSet"}}
    ),
    "kueue": Operator(
        ("JOBSET_BIN", "KUEUE_BIN"),
        ("jobset.x-k8s.io", "kueue.x-k8s.io"),
        _start_kueue,
        JOB_SET,
        {"workload": {"kind": "JobSet"}, "gang": {"scheduler": "kueue", "queue": "research"}},
    ),
}
QUEUED = {
    "Job": Operator(
        ("KUEUE_BIN",),
        ("kueue.x-k8s.io",),
        _start_kueue_alone,
        "batch/v1/Job",
        {"gang": {"scheduler": "kueue", "queue": "research"}},
    ),
    "JobSet": OPERATORS["kueue"],
    "TFJob": Operator(
        ("KUEUE_BIN",),
        ("kueue.x-k8s.io",),
        _start_kueue_with_tf_jobs,
        "kubeflow.org/v1/TFJob",
        {"workload": {"kind": "TFJob"}, "gang": {"scheduler": "kueue", "queue": "research"}},
    ),
}
"""Kueue with each kind that can wait in a queue, by the kind's name."""


class Running(NamedTuple):
    """A cluster in which an operator runs."""

    cluster: ControlPlane
    operator: Operator


@pytest.fixture(scope="module", params=OPERATORS)
def there(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from _cluster(request, tmp_path_factory, OPERATORS[request.param])


@pytest.fixture(scope="module", params=QUEUED)
def kueue(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from _cluster(request, tmp_path_factory, QUEUED[request.param])


def _cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, operator: Operator
) -> Iterator[Running]:
    for name in operator.folders:
        if not os.environ.get(name):
            pytest.skip(f"{name} names no folder with the operator's programs")
    folders = [Path(os.environ[name]) for name in operator.folders]
    kinds = [
        kind
        for folder, group in zip(folders, operator.groups, strict=True)
        for kind in operators_definitions(folder, group)
    ]
    if not kinds:
        pytest.skip(f"neither {REAL} nor a folder crds beside the programs has the operator's kinds")
    nodes = [fake_node("node")]
    with up(request, ControlPlane(tmp_path_factory.mktemp("operator"), nodes=nodes)) as cluster:
        cluster.install(kinds)
        operator.start(cluster, *folders)
        yield Running(cluster, operator)


@pytest.fixture
def place(there: Running, request: pytest.FixtureRequest) -> Iterator[str]:
    cluster = there.cluster
    name = cluster.namespace(dns_label(request.node.name))
    if "KUEUE_BIN" in there.operator.folders:
        _add_queue(cluster, name)
    yield name
    cluster.client.delete("Namespace", name)


def _add_queue(cluster: ControlPlane, namespace: str) -> None:
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "research"}}
    cluster.client.apply({**queue, "spec": {"clusterQueue": "all"}}, namespace)


def _job(there: Running, folder: Path, **spec: Any) -> Rendered:
    return write_job(_text(there, **spec), folder / "rendered")


def _text(there: Running, **spec: Any) -> str:
    roles = {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 2}, "evaluator": {}}
    resources = {name: {**role, "resources": {"cpu": 1, "memory": "1Gi"}} for name, role in roles.items()}
    document = {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {"image": "registry.example.com/mnist:1", "roles": resources, **there.operator.spec, **spec},
    }
    return yaml.safe_dump(document)


def _ids(pods: list[Object]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


def _runs(there: Running, place: str) -> bool:
    return len(running(there.cluster.client, place)) == PODS


@pytest.mark.parametrize("way", WAYS)
def test_the_same_job_is_applied_again(there: Running, place: str, way: str, tmp_path: Path) -> None:
    """Apply a running job again, after the operator has changed the object.

    A webhook may have written amounts and empty maps in its own way. The second apply reverts these changes, and the
    third apply changes nothing. No task restarts. With Kueue, one way is refused, as docs/scheduling.md describes.
    """
    job, client = _job(there, tmp_path), there.cluster.client
    WAYS[way](there.cluster, job, place)
    eventually(lambda: _runs(there, place), "all pods")
    if "KUEUE_BIN" in there.operator.folders and way in TAKES_OUT:
        with pytest.raises(CommandError, match="replicatedJobs"):
            WAYS[way](there.cluster, job, place)
        return
    pods = _ids(running(client, place))
    WAYS[way](there.cluster, job, place)
    before = client.get(there.operator.kind, "mnist", place)
    WAYS[way](there.cluster, job, place)
    assert client.get(there.operator.kind, "mnist", place)["spec"] == before["spec"]
    assert _ids(running(client, place)) == pods


def test_tfgen_apply_finds_an_unchanged_job_unchanged_and_gives_a_refusal_in_short(
    there: Running, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, client = tmp_path / "job.yaml", there.cluster.client
    path.write_text(_text(there).replace("1Gi", "1024Mi"), encoding="utf-8")
    apply = ["apply", str(path), "--kubeconfig", str(there.cluster.admin), "--namespace", place]
    assert cli.run(apply) == cli.OK
    eventually(lambda: _runs(there, place), "all pods")
    before = client.get(there.operator.kind, "mnist", place)["metadata"]["generation"]
    capsys.readouterr()
    assert cli.run([*apply, "--dry-run"]) == cli.OK
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == {"unchanged"}
    assert cli.run(["diff", "--live", "--exit-code", *apply[1:]]) == cli.OK
    assert capsys.readouterr().out == ""
    assert cli.run(apply) == cli.OK
    assert client.get(there.operator.kind, "mnist", place)["metadata"]["generation"] == before
    path.write_text(_text(there, image="registry.example.com/mnist:2"), encoding="utf-8")
    assert cli.run(["diff", "--live", *apply[1:]]) == cli.FAILED
    capsys.readouterr()
    assert cli.run(apply) == cli.FAILED
    lines = capsys.readouterr().err.splitlines()
    kind = there.operator.kind.rpartition("/")[2]
    (refusal,) = (line for line in lines if line.startswith(f"{kind} mnist: "))
    assert refusal.endswith(f"; the pods of a run cannot change; for a new run: tfgen rerun {path}")
    assert len(refusal) < 500


@pytest.mark.parametrize("there", ["jobset"], indirect=True)
@pytest.mark.parametrize("way", WAYS)
def test_a_job_set_that_kueue_has_admitted_is_applied_again_server_side(
    there: Running, place: str, way: str, tmp_path: Path
) -> None:
    """The test changes a suspended JobSet like Kueue: its pods get the node selector of their quota."""
    job, client, apply = _job(there, tmp_path), there.cluster.client, WAYS[way]
    apply(there.cluster, job, place)
    eventually(lambda: _runs(there, place), "all pods")
    client.patch(JOB_SET, "mnist", place, {"spec": {"suspend": True}})
    eventually(lambda: not running(client, place), "the end of all pods")
    jobs = client.get(JOB_SET, "mnist", place)["spec"]["replicatedJobs"]
    for replicated in jobs:
        replicated["template"]["spec"]["template"]["spec"]["nodeSelector"] = SELECTOR
    client.patch(JOB_SET, "mnist", place, {"spec": {"replicatedJobs": jobs}})
    client.patch(JOB_SET, "mnist", place, {"spec": {"suspend": False}})
    eventually(lambda: _runs(there, place), "all pods again")
    if way in TAKES_OUT:
        with pytest.raises(CommandError, match="replicatedJobs"):
            apply(there.cluster, job, place)
    else:
        apply(there.cluster, job, place)
    jobs = client.get(JOB_SET, "mnist", place)["spec"]["replicatedJobs"]
    assert [item["template"]["spec"]["template"]["spec"]["nodeSelector"] for item in jobs] == [SELECTOR] * 4


@pytest.mark.parametrize("there", ["volcano"], indirect=True)
@pytest.mark.parametrize("retries", [0, 2])
def test_volcano_starts_a_job_again_as_often_as_it_says(
    there: Running, place: str, retries: int, tmp_path: Path
) -> None:
    """The test evicts a pod each time: an eviction counts like any other loss."""
    client = there.cluster.client
    WAYS["kubectl-apply-server-side"](there.cluster, _job(there, tmp_path, retries=retries), place)
    seen: set[str] = set()

    def phase() -> str:
        return str(client.get(VOLCANO, "mnist", place).get("status", {}).get("state", {}).get("phase", ""))

    def runs_anew() -> list[Object]:
        pods = running(client, place)
        anew = len(pods) == PODS and not seen & _ids(pods)
        return pods if anew and phase() == "Running" else []

    for _ in range(retries + 1):
        pods = eventually(runs_anew, "all pods, and none of them seen before")
        seen |= _ids(pods)
        client.evict("mnist-worker-0", place)
    eventually(lambda: phase() == "Failed", "the end of the last try")


QUIET = 60.0
"""The number of seconds in which a released run must create no pod."""


def test_a_released_run_gives_its_quota_back_to_kueue(
    kueue: Running, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kueue resumes an object that a user suspends, so the release deactivates the Workload of the object."""
    cluster, client, kind = kueue.cluster, kueue.cluster.client, kueue.operator.kind
    title = kind.rpartition("/")[2]
    name = "mnist-worker" if title == "Job" else "mnist"
    namespace = cluster.namespace(dns_label(request.node.name))
    document = {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist", "namespace": namespace},
        "spec": {
            "image": "registry.example.com/mnist:1",
            "strategy": "MultiWorkerMirrored",
            "roles": {"worker": {"replicas": 2, "resources": {"cpu": 1, "memory": "1Gi"}}},
            **kueue.operator.spec,
        },
    }
    job = tmp_path / "job.yaml"
    job.write_text(yaml.safe_dump(document), encoding="utf-8")
    options = [str(job), "--kubeconfig", str(cluster.admin)]
    cluster.kubectl(
        "apply", "--server-side", "-n", namespace, "-k", write_job(job.read_text(), tmp_path / "r").overlay(None)
    )

    def shown() -> str:
        assert cli.run(["status", *options]) == cli.OK
        return capsys.readouterr().out

    eventually(lambda: "queue research: Inadmissible: LocalQueue research doesn't exist" in shown(), "the reason")
    _add_queue(cluster, namespace)
    eventually(lambda: len(_workers(client, namespace)) == 2, "two workers")
    assert "queue research" not in shown()
    eventually(lambda: _reserved(client) == 1, "a Workload that holds quota")
    assert cli.run(["diff", "--live", "--exit-code", *options]) == cli.OK, "the fields that Kueue writes differ"
    assert capsys.readouterr().out == ""

    assert cli.run(["release", *options]) == cli.OK
    assert capsys.readouterr().out == f"{title} {name} released\n"
    eventually(lambda: not _workers(client, namespace) and not _reserved(client), "the end of all pods, and the quota")
    created = client.list("v1/Event", namespace, fields="reason=SuccessfulCreate")
    time.sleep(QUIET)
    assert _ids(client.list("v1/Event", namespace, fields="reason=SuccessfulCreate")) == _ids(created)
    spec = client.get(kind, name, namespace)["spec"]
    assert (spec["runPolicy"] if title == "TFJob" else spec)["suspend"] is True
    assert not _workers(client, namespace)
    assert ": Suspended for" in (status := shown())
    assert "queue research: Deactivated: The workload is deactivated" in status
    assert cli.run(["release", *options]) == cli.OK
    assert capsys.readouterr().out == f"{title} {name} already released\n"


def _workers(client: Client, namespace: str) -> list[Object]:
    return client.list("v1/Pod", namespace, labels="tfgen/role=worker")


def _reserved(client: Client) -> int:
    """Return the number of Workloads with a reserved quota of the queue."""
    status = client.get("kueue.x-k8s.io/v1beta2/ClusterQueue", "all").get("status") or {}
    return int(status.get("reservingWorkloads", 0))
