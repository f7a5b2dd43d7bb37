"""``tfgen release``: frees what a run holds, as its finisher would at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.errors import TfgenError
from tfgen.live.api import NOT_FOUND, Api, ApiError
from tfgen.live.declared_run import DeclaredRun, Identity
from tfgen.live.run_end import end_of, suspend_path
from tfgen.live.workload import queue_of, workload_kind, workload_query
from tfgen.record import EMPTY, Record

_MANAGER: Final = {"fieldManager": "tfgen"}
_MERGE: Final = "application/merge-patch+json"
_ABSENT: Final = "is not there"
_RELEASED_BEFORE: Final = "was released"


class Released(Record):
    """The result for an object, in words, for example "released" or "is not there"."""

    identity: Identity
    fate: str


def release_run(api: Api, namespace: str, run: DeclaredRun) -> Iterator[Released]:
    """Free the pods of a run: StatefulSets are scaled to 0, and Jobs suspended.

    Neither field is put back by Helm, `kubectl apply` or a GitOps tool (docs/runs.md). What serves goes first, and
    what ends the run last: where the command is cut off, the next one frees the rest.

    Kueue starts an object again that somebody suspends. The command deactivates the object's Workload instead: then
    Kueue gives the quota back and suspends the object.

    Raises:
        ApiError: the account may not do it.
        TfgenError: nothing holds an object of the run back, or the server gives no answer in time.
    """
    last = run.end
    objects = [item for item in run.controllers.values() if item != last] + ([last] if last else [])
    for step in [_plan(api, namespace, identity, run) for identity in objects]:  # nothing is freed after a refusal
        yield _free(api, step)


class _Step(Record):
    """The requests that free what an object holds.

    Attributes:
        fate: the result after the requests.
        paths: the paths of the objects that the patch changes.
    """

    identity: Identity
    fate: str
    paths: tuple[str, ...] = ()
    patch: Mapping[str, Any] = EMPTY


def _plan(api: Api, namespace: str, identity: Identity, run: DeclaredRun) -> _Step:
    resource = api.resource(*identity[:2])
    is_set = identity[1] == "StatefulSet"
    field = ("spec", "replicas") if is_set else suspend_path(*identity[:2])
    if not field:
        name = resource.full_name if resource else identity[1].lower()
        raise TfgenError(
            f"{run.title}: no field of a {identity[1]} holds it back; delete it: "
            f"kubectl delete {name} {identity[2]} --namespace {namespace}"
        )
    if resource is None:
        return _Step(identity, _ABSENT)
    path = resource.at(namespace, identity[2], *(["scale"] if is_set else []))
    try:
        item = api.data("GET", path)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        return _Step(identity, _ABSENT)
    if not is_set and end_of({"apiVersion": identity[0], "kind": identity[1], **item}):
        return _Step(identity, "had ended")
    if queue_of(item):
        return _deactivation(api, namespace, item, identity, run)
    wanted: Any = 0 if is_set else True
    if (data_path.at(item, field) or 0) == wanted:
        return _Step(identity, _RELEASED_BEFORE)
    return _Step(identity, "released", (path,), data_path.with_value({}, field, wanted))


def _deactivation(api: Api, namespace: str, item: Mapping[str, Any], identity: Identity, run: DeclaredRun) -> _Step:
    """Plan to deactivate the Workload of an object in a queue of Kueue.

    Raises:
        ApiError: the account may not list Workloads.
        TfgenError: the object has no Workload, so nothing holds the object back.
    """
    resource = api.resource(*workload_kind(api))
    workloads = api.objects(resource, namespace, workload_query([item])) if resource else []
    if resource is None or not workloads:
        raise TfgenError(
            f"{run.title}: {identity[1]} {identity[2]} waits in the queue {queue_of(item)}, and the cluster has no "
            "Workload for it, by which Kueue gives the quota back; to free the nodes, delete the job: tfgen delete JOB"
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
    return Released(step.identity, step.fate)
