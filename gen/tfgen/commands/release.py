"""``tfgen release``: frees what a run holds, as its finisher would at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.errors import TfgenError
from tfgen.live.api import NOT_FOUND, Api, ApiError, Resource
from tfgen.live.run_end import end_of, suspend_path
from tfgen.live.wanted_run import Identity, WantedRun
from tfgen.live.workload import queue_of, workload_kind, workload_query
from tfgen.record import Record

_MANAGER: Final = {"fieldManager": "tfgen"}
_MERGE: Final = "application/merge-patch+json"


class Released(Record):
    """What became of an object: "released", "was released", "had ended", "is not there"."""

    identity: Identity
    fate: str


def release_run(api: Api, namespace: str, run: WantedRun) -> Iterator[Released]:
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
    for identity in objects:
        resource = api.resource(*identity[:2])
        if identity[1] != "StatefulSet" and not suspend_path(*identity[:2]):
            name = resource.full_name if resource else identity[1].lower()
            raise TfgenError(
                f"{run.title}: no field of a {identity[1]} holds it back; delete it: "
                f"kubectl delete {name} {identity[2]} --namespace {namespace}"
            )
        fate = "is not there" if resource is None else _release(api, resource, namespace, identity, run)
        yield Released(identity, fate)


def _release(api: Api, resource: Resource, namespace: str, identity: Identity, run: WantedRun) -> str:
    is_set = identity[1] == "StatefulSet"
    path = resource.at(namespace, identity[2], *(["scale"] if is_set else []))
    field = ("spec", "replicas") if is_set else suspend_path(*identity[:2])
    try:
        item = api.data("GET", path)
        if not is_set and end_of({"apiVersion": identity[0], "kind": identity[1], **item}):
            return "had ended"
        if queue_of(item):
            return _deactivate(api, namespace, item, f"{run.title}: {identity[1]} {identity[2]}")
        wanted: Any = 0 if is_set else True
        if (data_path.at(item, field) or 0) == wanted:
            return "was released"
        api.data("PATCH", path, _MANAGER, data_path.with_value({}, field, wanted), _MERGE)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        return "is not there"
    return "released"


def _deactivate(api: Api, namespace: str, item: Mapping[str, Any], title: str) -> str:
    """Deactivate the Workload of an object in a queue of Kueue.

    Raises:
        ApiError: the account may not list or patch Workloads.
        TfgenError: the object has no Workload, so nothing holds the object back.
    """
    resource = api.resource(*workload_kind(api))
    workloads = api.objects(resource, namespace, workload_query([item])) if resource else []
    if resource is None or not workloads:
        raise TfgenError(
            f"{title} waits in the queue {queue_of(item)}, and the cluster has no Workload for it, by which Kueue "
            "gives the quota back; to free the nodes, delete the job: tfgen delete JOB"
        )
    active = [workload for workload in workloads if (workload.get("spec") or {}).get("active", True)]
    for workload in active:
        path = resource.at(namespace, workload["metadata"]["name"])
        api.data("PATCH", path, _MANAGER, {"spec": {"active": False}}, _MERGE)
    return "released" if active else "was released"
