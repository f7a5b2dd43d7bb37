"""The requests of `tfgen release --lost` for a recorded run whose node does not answer."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")

from tests.support.recorded_run import read_recorded, read_run
from tfgen.commands.cluster.target import Target
from tfgen.commands.release_lost import ReleasedPod, release_lost
from tfgen.errors import TfgenError
from tfgen.live.api import ApiError, Resource

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


def release(cluster: Cluster) -> list[ReleasedPod]:
    return [*release_lost(Target(cast("Any", cluster), "ml", RUN.job, RUN.full_name, "", run=RUN.run), RUN)]


def test_exactly_the_pods_of_the_lost_node_are_deleted_by_their_uid() -> None:
    cluster = Cluster({"node-0": "True", "node-1": "True", "node-2": "Unknown"})
    results = release(cluster)
    lost = [pod for pod in PODS if pod["spec"].get("nodeName") == "node-2"]
    assert [item.pod for item in results if item.is_deleted] == sorted(pod["metadata"]["name"] for pod in lost)
    assert {item.reason for item in results if not item.is_deleted} == {"node-0 is ready", "node-1 is ready"}
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
    assert any(item.is_deleted for item in release(cluster))
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
