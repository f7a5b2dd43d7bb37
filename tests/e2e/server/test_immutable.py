"""Tests that `tfgen check` and the API server agree on each change of a running job.

The changes are those of tests/support/runs.py. Each change is tried, as a dry run, on the objects of the original job.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.client import ApiError, Client, Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.custom_kinds import definitions
from tests.e2e.jobs import write_job
from tests.e2e.ways import WAYS, helm
from tests.support.command import CommandError
from tests.support.runs import CASES, JOB, OBJECT_CASES, OBJECTS
from tfgen.change.new_run import find_new_runs
from tfgen.check.jobs import check
from tfgen.graph.graph import plain_objects
from tfgen.text.document import Document


class Change(NamedTuple):
    """Edit of JOB."""

    old: str
    new: str


def _without_environments(text: str) -> str:
    """Return a job's text without its environments, which repeat the same changes."""
    return text.partition("  environments:\n")[0]


BEFORE = _without_environments(JOB)
CHANGES = {
    name: Change(BEFORE, _without_environments(JOB.replace(old, new)))
    for name, (old, new, _) in CASES.items()
    if _without_environments(JOB.replace(old, new)) != BEFORE
}
MIRRORED = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mirrored}
spec:
  strategy: MultiWorkerMirrored
  image: mnist:1
  retries: 5
  roles: {worker: {replicas: 4}}
"""
CHANGES["retries by index"] = Change(MIRRORED, MIRRORED.replace("retries: 5", "retries: 6"))
CHANGES["exit codes that cost no retry"] = Change(
    MIRRORED, MIRRORED.replace("retries: 5", "retries: 5\n  restart: {ignoreExitCodes: [42]}")
)
CHANGES["size of a cluster of Jobs"] = Change(MIRRORED, MIRRORED.replace("replicas: 4", "replicas: 5"))
CHANGES["image of a cluster of Jobs"] = Change(MIRRORED, MIRRORED.replace("mnist:1", "mnist:2"))
CLAIMING = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: claiming}
spec:
  strategy: MultiWorkerMirrored
  image: mnist:1
  shm: 1Gi
  roles: {worker: {resources: {gpu: {count: 2, deviceClass: gpu.example.com}}}}
"""
CHANGES["number of claimed devices"] = Change(CLAIMING, CLAIMING.replace("count: 2", "count: 4"))
CHANGES["class of claimed devices"] = Change(CLAIMING, CLAIMING.replace("gpu.example.com", "gpu.example.org"))
CHANGES["no claimed devices"] = Change(CLAIMING, CLAIMING.replace("count: 2", "count: 0"))
CHANGES |= {name: Change(OBJECTS, OBJECTS.replace(old, new)) for name, (old, new, _) in OBJECT_CASES.items()}

BOUND = {"phase": "Bound", "capacity": {"storage": "20Gi"}}
STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "nfs"},
    "provisioner": "example.com/nfs",
    "allowVolumeExpansion": True,
}


@pytest.fixture(scope="module")
def running(cluster: ControlPlane) -> Iterator[str]:
    """A namespace in which all jobs run."""
    objects = [obj for text in (BEFORE, MIRRORED, OBJECTS, CLAIMING) for obj in _objects(text)]
    cluster.install(definitions(cluster.client, objects))
    cluster.client.apply(STORAGE_CLASS)
    namespace = cluster.namespace("running")
    cluster.client.apply_all(objects, namespace)
    # Only a bound claim can grow. Binding needs volumes, so the test sets the status.
    for claim in ("mnist-model", "kept-scratch"):
        cluster.client.patch("PersistentVolumeClaim", claim, namespace, {"status": BOUND}, subresource="status")
    yield namespace
    cluster.client.delete("Namespace", namespace)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_refused_where_check_says_so(name: str, cluster: ControlPlane, running: str) -> None:
    change = CHANGES[name]
    said = [problem.message for problem in find_new_runs(_document(change.old), _document(change.new))]
    old = _objects(change.old)
    refused = _refused(cluster.client, [obj for obj in _objects(change.new) if obj not in old], running)
    job = _document(change.old).data["metadata"]["name"]
    expected = {key for message in said if (key := _refusal(job, message))}
    # `check` gives one of several reasons. It also reports changes that no server refuses, but that no pod of the run
    # gets.
    assert expected <= refused.keys()
    assert said or not refused
    for message in said:
        if field := re.search(r"Kubernetes refuses to change the (\w+) of the Job ([\w-]+)", message):
            assert f"spec.{field[1]}: Invalid value" in refused["Job", field[2]]


def _refusal(job: str, message: str) -> tuple[str, str] | None:
    """Return the object that the API server refuses according to a message of `check`."""
    if workload := re.search(r"Kubernetes refuses to change the \w+ of the (\w+) ([\w-]+)", message):
        return workload[1], workload[2]
    if claim := re.search(r"the claim ([\w-]+) can only grow", message):
        return "PersistentVolumeClaim", claim[1]
    if immutable := re.search(r"the (ConfigMap) ([\w-]+) is immutable", message):
        return immutable[1], immutable[2]
    if "keep their list of hosts" in message:
        return "ConfigMap", job
    # Kubernetes applies these changes, and the run does not get them.
    assert re.search("the change would (delete|add) the|would stay unchanged|without a restart", message), message
    return None


def _refused(client: Client, objects: list[Object], namespace: str) -> dict[tuple[str, str], str]:
    """Return the API server's refusals of objects, by kind and name."""
    answers: dict[tuple[str, str], str] = {}
    for obj in objects:
        try:
            client.apply(obj, namespace, dry_run=True)
        except ApiError as error:
            if error.status not in (403, 422):
                raise
            answers[obj["kind"], obj["metadata"]["name"]] = error.message
    return answers


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, marks=[] if way in ("kubectl-apply-server-side", "helm-upgrade") else pytest.mark.nightly)
        for way in WAYS
    ],
)
def test_a_run_keeps_its_pods_whatever_applies_another_image(
    way: str, cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """A worker that is lost afterwards returns with the image of its peers."""
    job = BEFORE.partition("  storage:\n")[0]  # without a gang: this cluster has no scheduler for gangs
    before = write_job(job, tmp_path / "before")
    after = write_job(job.replace("mnist:1", "no-such-image"), tmp_path / "after")
    client = cluster.client
    WAYS[way](cluster, before, namespace)
    eventually(lambda: len(_identities(client, namespace)) == 8, "all pods")
    pods, sets = _identities(client, namespace), _stateful_sets(client, namespace)
    with pytest.raises(CommandError) as refusal:
        WAYS[way](cluster, after, namespace)
    said = refusal.value.stderr.splitlines()
    assert _identities(client, namespace) == pods
    assert _stateful_sets(client, namespace) == sets
    if way.startswith("helm"):
        (line,) = said
        assert line.endswith("cannot change while its run lasts: set a new run, such as --set run=NAME")
        assert len(line) < 250
    else:
        refused = {match[1] for line in said if (match := re.search(r'"(mnist-[a-z]+)" is invalid: ', line))}
        assert refused == {"mnist-chief", "mnist-ps", "mnist-worker", "mnist-finisher"}

    client.delete("Pod", "mnist-worker-0", namespace)
    eventually(lambda: len(_identities(client, namespace) - pods) == 1, "the worker that was lost")
    images = {item["spec"]["containers"][0]["image"] for item in client.list("Pod", namespace)}
    assert images == {"mnist:1"}


def test_helm_asks_for_a_new_run_for_other_exit_codes(cluster: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """The chart's comparison reads the exit codes as the API server returns them."""
    job = write_job(MIRRORED.replace("retries: 5", "restart: {ignoreExitCodes: [42, 143]}"), tmp_path)
    helm()(cluster, job, namespace)
    helm()(cluster, job, namespace)
    for codes in ("[42]", "[]"):
        with pytest.raises(CommandError, match="the Job mirrored-worker cannot change while its run lasts"):
            helm("--set-json", f"restart.ignoreExitCodes={codes}")(cluster, job, namespace)
    stored = cluster.client.get("Job", "mirrored-worker", namespace)["spec"]["podFailurePolicy"]["rules"]
    assert stored == [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "Ignore", "onExitCodes": {"containerName": "tensorflow", "operator": "In", "values": [42, 143]}},
    ]


def _stateful_sets(client: Client, namespace: str) -> dict[str, tuple[int, Object]]:
    """Return the requested replicas and the generation of each StatefulSet."""
    return {
        item["metadata"]["name"]: (item["metadata"]["generation"], item["spec"])
        for item in client.list("StatefulSet", namespace)
    }


def _identities(client: Client, namespace: str) -> set[tuple[str, str, int]]:
    """Return each running pod's name and id, and the number of restarts of its containers."""
    return {
        (
            pod["metadata"]["name"],
            pod["metadata"]["uid"],
            sum(each["restartCount"] for each in pod["status"]["containerStatuses"]),
        )
        for pod in client.list("Pod", namespace, fields="status.phase=Running")
        if "deletionTimestamp" not in pod["metadata"]
    }


@functools.cache
def _objects(text: str) -> list[Object]:
    return [dict(obj) for obj in plain_objects(_document(text).data)]


def _document(text: str) -> Document:
    (document,) = check(text, "job.yaml").documents
    return document
