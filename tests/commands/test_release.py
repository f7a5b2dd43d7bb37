"""`tfgen release`: the tasks of a run, and pods on lost nodes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.recorded_run import read_recorded, read_run
from tfgen.commands.release import Released, release_lost, release_run
from tfgen.errors import TfgenError
from tfgen.live.api import ApiError, Resource
from tfgen.live.run import DeclaredRun
from tfgen.live.target import Target

pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")


GOLDEN = Path(__file__).parents[1] / "golden"


def target(api: object, run: DeclaredRun) -> Target:
    return Target(cast("Any", api), "ml", run.job, run.full_name, "tfgen rerun job.yaml", run=run.run)


class Volcano:
    """A cluster whose API discovery contains only Volcano."""

    def resource(self, api_version: str, kind: str) -> Resource:
        assert (api_version, kind) == ("batch.volcano.sh/v1alpha1", "Job")
        return Resource("/apis/batch.volcano.sh/v1alpha1", "jobs", True)


def test_the_advice_names_volcano_s_jobs_and_not_those_of_kubernetes() -> None:
    run = read_run(GOLDEN / "volcano-job" / "job.yaml", None)
    advice = "kubectl delete jobs.batch.volcano.sh volcano-job --namespace ml"
    with pytest.raises(TfgenError, match=advice):
        list(release_run(target(Volcano(), run), run))


class Queued:
    """A cluster that has Jobs of a run in a queue of Kueue, and no Workloads."""

    def __init__(self) -> None:
        self.verbs: set[str] = set()

    def resource(self, api_version: str, kind: str) -> Resource | None:
        return Resource("/apis/batch/v1", "jobs", True) if (api_version, kind) == ("batch/v1", "Job") else None

    def data(self, verb: str, path: str, *_: object) -> Any:
        self.verbs.add(verb)
        labels = {"app.kubernetes.io/name": "queued", "app.kubernetes.io/managed-by": "tfgen"}
        labels |= {"kueue.x-k8s.io/queue-name": "research"} if path.endswith("worker") else {}
        return {"metadata": {"name": path.rpartition("/")[2], "uid": "1", "labels": labels}, "spec": {}}


def test_a_refused_release_leaves_the_evaluator_running() -> None:
    """The evaluator is a Job outside the queue. Its name is before the Job that ends the run."""
    run = read_run(GOLDEN / "kueue" / "job.yaml", None)
    assert [name for _, _, name in run.controllers.values()] == ["queued-worker", "queued-evaluator"]
    cluster = Queued()
    with pytest.raises(TfgenError, match="Job queued-worker is in the queue research"):
        list(release_run(target(cluster, run), run))
    assert cluster.verbs == {"GET"}


# -- pods on lost nodes ------------------------------------------------------------------------------------------------

pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")


FAILED = Path(__file__).parents[1] / "live" / "failed"
RUN = read_run(FAILED / "job.yaml", None)
PODS = [copy.deepcopy(dict(pod)) for pod in read_recorded(FAILED / "cluster.json")[0].pods]
KINDS = {"Pod": ("/api/v1", "pods", True), "Node": ("/api/v1", "nodes", False)}
LEASE = ("/apis/coordination.k8s.io/v1", "leases", True)


class Cluster:
    """A cluster with the pods of the recorded run, and with the status of the condition Ready for each node."""

    time = datetime(2026, 11, 22, 9, 50, tzinfo=UTC)

    def __init__(self, nodes: Mapping[str, str], refusal: ApiError | None = None) -> None:
        self.nodes, self.refusal = nodes, refusal
        self.pods = copy.deepcopy(PODS)
        self.changes: list[tuple[str, str, Any]] = []

    def resource(self, _api_version: str, kind: str) -> Resource:
        return Resource(*KINDS.get(kind, LEASE))

    def objects(self, *_: object) -> list[Any]:
        return self.pods

    def data(self, verb: str, path: str, _query: object = None, body: Any = None, _content_type: str = "") -> Any:
        name = path.rpartition("/")[2]
        if verb != "GET":
            self.changes.append((verb, path, body))
            if self.refusal:
                raise self.refusal
            return {}
        if "/leases/" in path or name not in self.nodes:
            raise ApiError(404, "not found")
        condition = {"type": "Ready", "status": self.nodes[name]}
        return {"metadata": {"name": name}, "status": {"conditions": [condition]}}


def release(cluster: Cluster) -> list[Released]:
    return [*release_lost(Target(cast("Any", cluster), "ml", RUN.job, RUN.full_name, "", run=RUN.run), RUN)]


def test_exactly_the_pods_of_the_lost_node_are_deleted_by_their_uid() -> None:
    cluster = Cluster({"node-0": "True", "node-1": "True", "node-2": "Unknown"})
    results = release(cluster)
    lost = [pod for pod in PODS if pod["spec"].get("nodeName") == "node-2"]
    deleted = [item.identity[2] for item in results if item.outcome == "deleted"]
    assert deleted == sorted(pod["metadata"]["name"] for pod in lost)
    assert {item.reason for item in results if item.outcome == "left"} == {"node-0 is ready", "node-1 is ready"}
    assert [verb for verb, _, _ in cluster.changes] == ["PATCH", "DELETE"] * len(lost)
    uids = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in lost}
    for verb, path, body in cluster.changes:
        if verb == "DELETE":
            assert body["preconditions"] == {"uid": uids[path.removeprefix("/api/v1/namespaces/ml/pods/")]}
            assert body["gracePeriodSeconds"] == 0
        else:
            assert path.endswith("/status")
            assert body["metadata"] == {"uid": uids[path.split("/")[-2]]}


@pytest.mark.parametrize("status", [404, 409])
def test_a_pod_that_was_replaced_meanwhile_is_no_error(status: int) -> None:
    cluster = Cluster({"node-0": "True", "node-1": "True", "node-2": "Unknown"}, ApiError(status, "another uid"))
    assert any(item.outcome == "deleted" for item in release(cluster))
    assert {verb for verb, _, _ in cluster.changes} == {"PATCH"}


def test_a_refused_deletion_is_an_error() -> None:
    with pytest.raises(ApiError, match="pods/status"):
        release(Cluster({"node-2": "Unknown"}, ApiError(403, "cannot patch pods/status")))


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ({"node-0": "True", "node-1": "True", "node-2": "False"}, "the kubelet of node-2 answers"),
        ({"node-0": "True", "node-1": "True"}, "the cluster has no node node-2"),
    ],
)
def test_nothing_is_deleted_where_each_node_answers(nodes: Mapping[str, str], reason: str) -> None:
    cluster = Cluster(nodes)
    with pytest.raises(TfgenError, match=f"no pod is on a node that does not answer: node-0 is ready.*{reason}"):
        release(cluster)
    assert cluster.changes == []


def test_a_pod_without_a_controller_is_not_deleted() -> None:
    cluster = Cluster({"node-0": "True", "node-1": "True", "node-2": "Unknown"})
    for pod in cluster.pods:
        pod["metadata"].pop("ownerReferences")
    with pytest.raises(TfgenError, match="mnist: no controller replaces the pod mnist-"):
        release(cluster)
    assert cluster.changes == []
