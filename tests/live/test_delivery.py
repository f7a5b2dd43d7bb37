"""Tests of the reason why a GitOps tool cannot apply a job, from the status of its object.

The texts come from Argo CD 3.2.11, kustomize-controller 1.9.5 and helm-controller 1.4.0. tests/e2e/gitops runs these.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.recorded_run import read_recorded, read_run
from tfgen.live.run import DeclaredRun, Snapshot, StatusReason
from tfgen.live.run_state import delivery_reason, state_of_run
from tfgen.report.status import as_text

SUCCEEDED = Path(__file__).parent / "succeeded"
JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist, namespace: ml}
spec:
  image: registry.example.com/mnist:1
  roles: {chief: {}, ps: {}, worker: {}}
  gitops: {repository: https://git.example.com/ml/jobs.git, GITOPS}
  environments: {prod: {}, far: {cluster: elsewhere}, off: {enabled: false}}
"""
APPLICATION = ("argoproj.io/v1alpha1", "Application", "mnist-prod")
INVALID = 'StatefulSet.apps "mnist-ps" is invalid: spec: Forbidden: updates to statefulset spec are forbidden'
SET_A_RUN = "the Job mnist-chief cannot change while its run lasts: set a new run, such as --set run=NAME"


def run_of(folder: Path, gitops: str, environment: str) -> DeclaredRun:
    job = folder / "job.yaml"
    job.write_text(JOB.replace("GITOPS", gitops), encoding="utf-8")
    return read_run(job, environment)


@pytest.mark.parametrize(
    ("gitops", "environment", "kinds"),
    [
        ("argocd: {}", "prod", [("argocd", "Application")]),
        ("argocd: {namespace: tools, generator: ApplicationSet}", "prod", [("tools", "Application")]),
        ("argocd: {}, flux: {}", "far", [("", "Application"), ("flux-system", "Kustomization")]),
        ("flux: {namespace: gitops}, source: Chart", "prod", [("gitops", "HelmRelease")]),
        ("flux: {}, source: Chart", "off", []),
    ],
)
def test_a_run_names_the_objects_that_deliver_its_job(
    gitops: str, environment: str, kinds: list[tuple[str, str]], tmp_path: Path
) -> None:
    """Argo CD runs in another cluster than the job in a named cluster, and Flux runs in the cluster of the job."""
    found = run_of(tmp_path, gitops, environment).deliveries
    assert [(namespace, kind) for namespace, (_, kind, _) in found] == kinds
    assert {name for _, (_, _, name) in found} <= {f"mnist-{environment}"}


def application(sync: str = "OutOfSync", condition: str = "", **operation: Any) -> dict[str, Any]:
    conditions = [{"type": condition, "message": "Failed to load target state: no such file"}] if condition else []
    return {
        "apiVersion": APPLICATION[0],
        "kind": APPLICATION[1],
        "metadata": {"name": APPLICATION[2]},
        "status": {"sync": {"status": sync}, "conditions": conditions, "operationState": operation},
    }


def result(kind: str, name: str, status: str, message: str) -> dict[str, str]:
    return {"kind": kind, "name": name, "status": status, "message": message}


REFUSED = {
    "phase": "Running",
    "retryCount": 3,
    "message": "one or more objects failed to apply. Retrying attempt #3 at 8:57PM.",
    "syncResult": {
        "resources": [
            result("StatefulSet", "mnist-worker", "SyncFailed", "refused"),
            result("StatefulSet", "mnist-ps", "SyncFailed", f'error when patching "/dev/shm/5066": {INVALID}'),
            result("Service", "mnist", "Synced", "service/mnist unchanged"),
        ]
    },
}


def flux(kind: str, *conditions: tuple[str, str, str, str]) -> dict[str, Any]:
    keys = ("type", "status", "reason", "message")
    return {"kind": kind, "status": {"conditions": [dict(zip(keys, each, strict=True)) for each in conditions]}}


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"kind": "Application"}, None),
        (application("Synced"), None),
        (application(), None),
        (application("Synced", **REFUSED), None),
        (
            application(condition="ComparisonError"),
            StatusReason("ComparisonError", "Failed to load target state: no such file"),
        ),
        (application(condition="OrphanedResourceWarning"), None),
        (
            application(**REFUSED),
            StatusReason("SyncFailed", f"StatefulSet mnist-ps: {INVALID}; Argo CD could not apply 1 more object"),
        ),
        (
            application(phase="Running", retryCount=1, message="tasks are not valid. Retrying attempt #1 at 8:57PM."),
            StatusReason("SyncFailed", "tasks are not valid"),
        ),
        (application(phase="Running"), None),
        (flux("Kustomization"), None),
        (flux("Kustomization", ("Ready", "True", "ReconciliationSucceeded", "Applied revision: main")), None),
        (flux("Kustomization", ("Ready", "Unknown", "Progressing", "in progress")), None),
        (
            flux("Kustomization", ("Ready", "False", "ReconciliationFailed", f"{INVALID}\n")),
            StatusReason("ReconciliationFailed", INVALID),
        ),
        (
            flux(
                "HelmRelease",
                ("Ready", "False", "RetryAfterInterval", "Will retry after 1m0s"),
                (
                    "Released",
                    "False",
                    "UpgradeFailed",
                    f"Helm upgrade failed for release ml/mnist with chart mnist@1.1.6+1: {SET_A_RUN}",
                ),
            ),
            StatusReason("UpgradeFailed", SET_A_RUN),
        ),
        (
            flux(
                "HelmRelease",
                ("Ready", "False", "SourceNotReady", "HelmChart is not ready"),
                ("Released", "True", "InstallSucceeded", "Helm install succeeded"),
            ),
            StatusReason("SourceNotReady", "HelmChart is not ready"),
        ),
    ],
)
def test_the_reason_is_that_of_the_object(item: dict[str, Any], reason: StatusReason | None) -> None:
    assert delivery_reason(item) == reason


def test_a_run_that_the_tool_could_not_create_shows_the_reason(tmp_path: Path) -> None:
    run = run_of(tmp_path, "argocd: {}", "prod")
    state = state_of_run(run, Snapshot(objects={APPLICATION: application(**REFUSED)}), "ml")
    assert as_text(state, datetime.now(UTC)) == (
        "mnist/prod in ml: Absent\n"
        f"why:      Application mnist-prod: SyncFailed: StatefulSet mnist-ps: {INVALID}; "
        "Argo CD could not apply 1 more object\n"
    )


def recreated(name: str, created: str, **spec: Any) -> list[str]:
    """Return the reasons of a run that has ended at 09:45:49, with an object of the given time of creation."""
    snapshot, _, _ = read_recorded(SUCCEEDED / "cluster.json")
    (key,) = (key for key in snapshot.objects if key[2] == name)
    item = snapshot.objects[key]
    changed = {
        **item,
        "metadata": {**item["metadata"], "creationTimestamp": created},
        "spec": {**item["spec"], **spec},
        "status": {},
    }
    finisher = ("batch/v1", "Job", "mnist-finisher")
    complete = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-22T10:00:00Z"}
    ended = {**snapshot.objects[finisher], "status": {"conditions": [complete]}}
    objects = {**snapshot.objects, finisher: ended, key: changed}
    state = state_of_run(read_run(SUCCEEDED / "job.yaml", None), snapshot.replaced(objects=objects, pods=()), "ml")
    return [str(cause) for cause in state.causes]


def test_an_object_that_was_created_again_after_the_end_is_a_reason() -> None:
    """The chief's new Job has not ended, so the end of the finisher is the end of the run."""
    text = "was created again after the end of the run; to free the nodes: tfgen release"
    assert recreated("mnist-ps", "2026-11-22T11:00:00Z") == [f"ps: CreatedAgain: StatefulSet mnist-ps {text}"]
    assert recreated("mnist-ps", "2026-11-22T11:00:00Z", replicas=0) == []
    assert recreated("mnist-ps", "2026-11-22T09:00:00Z") == []
    assert recreated("mnist-chief", "2026-11-22T11:00:00Z") == [f"chief: CreatedAgain: Job mnist-chief {text}"]
    assert recreated("mnist-chief", "2026-11-22T11:00:00Z", suspend=True) == []
    assert recreated("mnist-chief", "2026-11-22T09:00:00Z") == []
