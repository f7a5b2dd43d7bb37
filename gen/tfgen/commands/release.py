"""``tfgen release``: free the GPUs of a run, as the finisher does when the run ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.errors import TfgenError
from tfgen.live.api import NOT_FOUND, Api, ApiError, find
from tfgen.live.declared_run import DeclaredRun, Identity
from tfgen.live.run_end import end_of, suspend_path
from tfgen.live.workload import query_parameters, queue_of, workload_kind
from tfgen.record import EMPTY, Record

_MANAGER: Final = {"fieldManager": "tfgen"}
_MERGE: Final = "application/merge-patch+json"
_ABSENT: Final = "not found"
_RELEASED_BEFORE: Final = "already released"
_ENDED_BEFORE: Final = "already ended"


class Released(Record):
    """The outcome of a release for an object: "released", "already released", "already ended" or "not found"."""

    identity: Identity
    outcome: str


def release_run(api: Api, namespace: str, run: DeclaredRun) -> Iterator[Released]:
    """Free the GPUs of a run: scale its StatefulSets to 0, and suspend its Jobs.

    Helm, `kubectl apply` and GitOps tools do not reset `replicas` and `suspend` (docs/runs.md). The function releases
    the object that decides when the run ends, such as the chief's Job, after all other objects. So after an interrupt,
    this object is not yet released, and the next `tfgen release` frees the remaining objects.

    Kueue starts a suspended object again. So for an object in a queue of Kueue, the function deactivates the Workload
    of the object. Then Kueue frees the quota and suspends the object.

    Raises:
        ApiError: the user may not change the objects.
        TfgenError: an object of the run has no field that stops its pods, or the server does not answer in time.
    """
    last = run.deciding_object
    objects = [item for item in run.controllers.values() if item != last] + ([last] if last else [])
    # Plan all steps before the first request, so that an error leaves every object unchanged.
    for step in [_plan(api, namespace, identity, run) for identity in objects]:
        yield _free(api, step)


class _Step(Record):
    """The plan for the release of an object of a run: the requests to send, and the outcome to report.

    Attributes:
        identity: the object to release.
        outcome: the outcome to report after all requests have succeeded, such as "released".
        paths: the URL paths of the requests; empty if the object needs no request. For an object in a queue of Kueue,
            the requests change the Workloads of the object. For any other object, the only request changes the object.
        patch: the merge patch, which all requests send.
    """

    identity: Identity
    outcome: str
    paths: tuple[str, ...] = ()
    patch: Mapping[str, Any] = EMPTY


def _plan(api: Api, namespace: str, identity: Identity, run: DeclaredRun) -> _Step:
    resource = api.resource(*identity[:2])
    is_set = identity[1] == "StatefulSet"
    field = ("spec", "replicas") if is_set else suspend_path(*identity[:2])
    if not field:
        name = resource.full_name if resource else identity[1].lower()
        raise TfgenError(
            f"{run.title}: a {identity[1]} has no field that stops its pods; to free the GPUs, delete the object: "
            f"kubectl delete {name} {identity[2]} --namespace {namespace}"
        )
    if resource is None:
        return _Step(identity, _ABSENT)
    path = resource.at(namespace, identity[2], *(["scale"] if is_set else []))
    item = find(api, path)
    if item is None:
        return _Step(identity, _ABSENT)
    if not is_set and end_of({"apiVersion": identity[0], "kind": identity[1], **item}):
        return _Step(identity, _ENDED_BEFORE)
    if queue_of(item):
        return _deactivation(api, namespace, item, identity, run)
    released: Any = 0 if is_set else True
    if (data_path.at(item, field) or 0) == released:
        return _Step(identity, _RELEASED_BEFORE)
    return _Step(identity, "released", (path,), data_path.with_value({}, field, released))


def _deactivation(api: Api, namespace: str, item: Mapping[str, Any], identity: Identity, run: DeclaredRun) -> _Step:
    """Return the requests that deactivate the Workloads of an object in a queue of Kueue.

    `item` is the object in the cluster.

    Raises:
        ApiError: the user may not list Workloads.
        TfgenError: the object has no Workload, so nothing stops its pods.
    """
    resource = api.resource(*workload_kind(api))
    workloads = api.objects(resource, namespace, query_parameters([item])) if resource else []
    if resource is None or not workloads:
        raise TfgenError(
            f"{run.title}: {identity[1]} {identity[2]} is in the queue {queue_of(item)}, but the cluster has no "
            "Workload for the object, so Kueue cannot free the quota; to free the GPUs, delete the job: "
            "tfgen delete JOB"
        )
    active = [workload for workload in workloads if (workload.get("spec") or {}).get("active", True)]
    paths = tuple(resource.at(namespace, workload["metadata"]["name"]) for workload in active)
    return _Step(identity, "released" if active else _RELEASED_BEFORE, paths, {"spec": {"active": False}})


def _free(api: Api, step: _Step) -> Released:
    try:
        for path in step.paths:
            api.data("PATCH", path, _MANAGER, step.patch, _MERGE)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        return Released(step.identity, _ABSENT)
    return Released(step.identity, step.outcome)
