"""Tests of the table of rules for fields of objects: each row can fail, and no row fails on a similar correct field."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.refused_fields import CASES, job
from tfgen.check.object_rules import Destination
from tfgen.check.object_table import SUMMARIES, TABLE
from tfgen.kubernetes.pods import Profile

KUBERNETES = Destination(None, "restricted", has_gitops=False)


def found(item: dict[str, Any], destination: Destination = KUBERNETES) -> list[str]:
    return [fault.rule for fault in TABLE.faults(item, destination)]


@pytest.mark.parametrize("name", CASES)
def test_what_the_api_server_refuses_is_an_error(name: str) -> None:
    faults = [fault.severity for fault in TABLE.faults(_of_objects(CASES[name].refused), KUBERNETES)]
    assert faults
    assert set(faults) == {"error"}
    assert found(_of_objects(CASES[name].accepted)) == []


@pytest.mark.parametrize(
    ("path", "is_refused"),
    [("/proc", True), ("/proc/sys", True), ("/proc/../proc/x", True), ("/proc/uptime", False), ("/process", False)],
)
def test_a_mount_below_proc(path: str, is_refused: bool) -> None:
    """The list of the files that a volume may replace is the list of runc, in libcontainer/rootfs_linux.go."""
    mounts = {"volumeMounts": [{"name": "data", "mountPath": path}]}
    item = job(mounts, volumes=[{"name": "data", "emptyDir": {}}])
    assert found(_of_objects(item)) == (["object-refused"] if is_refused else [])


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (None, [("object-version", "warning")]),
        ((1, 35), [("object-refused", "error")]),
        ((1, 36), []),
    ],
)
def test_a_name_of_a_service_begins_with_a_digit(version: tuple[int, ...] | None, expected: list[Any]) -> None:
    """The feature gate RelaxedServiceNameValidation is on from Kubernetes 1.36."""
    item = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "2048", "labels": LABELS}}
    faults = TABLE.faults(item, Destination(version, "restricted", has_gitops=False))
    assert [(fault.rule, fault.severity) for fault in faults] == expected


@pytest.mark.parametrize(
    ("length", "is_refused"),
    [(len("-worker-0-0-abcde"), False), (len("-worker-0-0-abcde") - 1, True)],
)
def test_a_name_of_a_job_set(length: int, is_refused: bool) -> None:
    """The webhook of JobSet allows 63 characters for JOBSET-ROLE-JOB-INDEX-abcde."""
    template = {"spec": {"completions": 1, "parallelism": 1}}
    item = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "m" * (63 - length)},
        "spec": {"replicatedJobs": [{"name": "worker", "replicas": 1, "template": template}]},
    }
    assert found(item) == (["object-refused"] if is_refused else [])


@pytest.mark.parametrize("kind", ["Job", "JobSet", "TFJob"])
@pytest.mark.parametrize("has_gitops", [True, False])
def test_a_ttl_is_an_error_with_gitops(kind: str, has_gitops: bool) -> None:
    item = {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "a"}}
    spec = {"ttlSecondsAfterFinished": 60, "replicatedJobs": [{"name": "a", "template": {"spec": {}}}]}
    destination = Destination(None, "restricted", has_gitops=has_gitops)
    assert found({**item, "spec": spec}, destination) == (["ttl-with-gitops"] if has_gitops else [])


@pytest.mark.parametrize("profile", ["restricted", "baseline", "privileged"])
@pytest.mark.parametrize(
    ("app_armor", "is_weak"), [("unconfined", True), ("runtime/default", False), ("localhost/train", False)]
)
def test_a_profile_of_app_armor(profile: Profile, app_armor: str, is_weak: bool) -> None:
    """https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline lists the allowed annotations."""
    annotations = {"container.apparmor.security.beta.kubernetes.io/main": app_armor}
    item = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "annotations": annotations}}
    item["spec"] = {"containers": [{"name": "main", "image": "registry.example.com/main:1.0"}]}
    refused = ["pod-security"] if is_weak and profile != "privileged" else []
    assert found(item, Destination(None, profile, has_gitops=False)) == refused


def test_every_row_has_a_rule_with_a_summary() -> None:
    assert {row.rule for row in TABLE.rows} <= {*SUMMARIES, "affinity", "object-schema", "pod-security"}


LABELS = {"tfgen/object": "case"}


def _of_objects(item: dict[str, Any]) -> dict[str, Any]:
    """Return an object as an entry of `objects`, to which only the rules apply that hold for any object."""
    return {**item, "metadata": {**item["metadata"], "labels": LABELS}}
