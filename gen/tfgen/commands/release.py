"""``tfgen release``: frees what a run holds, as its finisher would at its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tfgen import data_path
from tfgen.errors import TfgenError
from tfgen.live.api import NOT_FOUND, Api, ApiError, Resource
from tfgen.live.run_end import end_of, suspend_path
from tfgen.live.wanted_run import Identity, WantedRun
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

    Raises:
        ApiError: the account may not do it.
        TfgenError: the run's kind has no field that holds it back, or there is no answer in time.
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
        fate = "is not there" if resource is None else _release(api, resource, namespace, identity)
        yield Released(identity, fate)


def _release(api: Api, resource: Resource, namespace: str, identity: Identity) -> str:
    is_set = identity[1] == "StatefulSet"
    path = resource.at(namespace, identity[2], *(["scale"] if is_set else []))
    field = ("spec", "replicas") if is_set else suspend_path(*identity[:2])
    try:
        item = api.data("GET", path)
        if not is_set and end_of({"apiVersion": identity[0], "kind": identity[1], **item}):
            return "had ended"
        wanted: Any = 0 if is_set else True
        if (data_path.at(item, field) or 0) == wanted:
            return "was released"
        api.data("PATCH", path, _MANAGER, data_path.with_value({}, field, wanted), _MERGE)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        return "is not there"
    return "released"
