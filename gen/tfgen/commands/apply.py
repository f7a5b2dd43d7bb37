"""``tfgen apply`` and ``tfgen delete``: a job's objects in a cluster that no GitOps tool looks after.

Each object is applied by the server (https://kubernetes.io/docs/reference/using-api/server-side-apply/). First all are
tried: where the server refuses one of them, none is changed. What was applied stands in a ConfigMap of the job's, so
that the next apply removes what job.yaml has no more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from tfgen import data_path
from tfgen.change.field_diff import FieldChange, field_changes
from tfgen.errors import TfgenError
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, identity
from tfgen.live.api import CONFLICT, NOT_FOUND, Api, ApiError, Resource
from tfgen.live.owner import owner_of
from tfgen.live.wanted_run import Identity
from tfgen.record import Record

MANAGER: Final = "tfgen"
_APPLY: Final = "application/apply-patch+yaml"
_KEY: Final = "objects"
_NO_DIFFERENCE: Final = ("managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink")
"""What the server writes into the metadata of each object."""
_BACKGROUND: Final = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}

Fate: TypeAlias = Literal["created", "changed", "unchanged", "deleted", "kept"]


class ObjectChange(Record):
    """What becomes of an object, and of which fields of it."""

    identity: Identity
    fate: Fate
    fields: tuple[FieldChange, ...] = ()


class Target(Record):
    """Where a job's objects go.

    Attributes:
        job: its name.
        is_forced: whether fields and objects of others are taken over.
    """

    api: Api
    namespace: str
    job: str
    is_forced: bool = False


def plan_apply(target: Target, objects: Sequence[Object]) -> list[ObjectChange]:
    """What an apply would do, as the server itself says it. Nothing is changed.

    Raises:
        TfgenError: the server refuses an object, or somebody else looks after it; the message has all of them.
        ApiError: the account may not ask.
    """
    changes, refusals = [], []
    for item in _in_order(objects):
        try:
            changes.append(_try_apply(target, item))
        except ApiError as error:
            if error.is_forbidden and "is forbidden: User" in str(error):
                raise
            refusals.append(f"{_name(identity(item))}: {_refusal(error)}")
        except _RefusedError as error:
            refusals.append(str(error))
    if refusals:
        raise TfgenError("nothing is applied:\n" + "\n".join(refusals))
    wanted = {identity(item) for item in objects}
    return [*changes, *_plan_removal(target, (item for item in _inventory(target) if item not in wanted))]


def apply(target: Target, objects: Sequence[Object], changes: Sequence[ObjectChange]) -> Iterator[ObjectChange]:
    """Do what was planned, in the order of the plan; each is given once it is done.

    Raises:
        ApiError: the server refuses what it took when it was tried.
        TfgenError: there is no answer in time. The next apply goes on.
    """
    by_identity = {identity(item): item for item in objects}
    _write_inventory(target, dict.fromkeys([*_inventory(target), *by_identity]))
    for change in changes:
        if change.fate in ("created", "changed"):
            _patch(target, by_identity[change.identity], is_trial=False)
        elif change.fate == "deleted":
            _delete(target, change.identity)
        yield change
    _write_inventory(target, by_identity)


def plan_delete(target: Target, objects: Sequence[Object]) -> list[ObjectChange]:
    """What a delete would remove: what job.yaml has and what was applied, the last first. Claims are kept.

    Raises:
        TfgenError: somebody else looks after one of them; the message has all.
        ApiError: the account may not ask.
    """
    wanted = [identity(item) for item in _in_order(objects)]
    return _plan_removal(target, reversed(list(dict.fromkeys([*_inventory(target), *wanted]))))


def delete(target: Target, changes: Iterable[ObjectChange]) -> Iterator[ObjectChange]:
    """Remove what was planned; each is given once the server has taken it.

    Raises:
        ApiError: the server refuses it.
        TfgenError: there is no answer in time.
    """
    for change in changes:
        if change.fate == "deleted":
            _delete(target, change.identity)
        yield change
    _delete(target, _inventory_identity(target))


class _RefusedError(Exception):
    """An object that is left as it is, unless by force."""


def _in_order(objects: Iterable[Object]) -> list[Object]:
    """What pods look for at their start comes before them, as the waves of Argo CD say it."""
    return sorted(
        objects, key=lambda item: not keys.BEFORE_PODS.items() <= item["metadata"].get("annotations", {}).items()
    )


def _try_apply(target: Target, item: Object) -> ObjectChange:
    before = _find(target, identity(item))
    if before is not None:
        _check_owner(target, before)
    after = _patch(target, item, is_trial=True)
    if before is None:
        return ObjectChange(identity(item), "created")
    if (
        not target.is_forced and _replicas(before) == 0 and _replicas(after)
    ):  # nobody owns a number that was scaled to 0
        raise _RefusedError(
            f"{_name(identity(item))}: is scaled to 0, and would start again; give the next run a name by tfgen rerun, "
            "or start this one by --force"
        )
    fields = tuple(field_changes(_content(before), _content(after)))
    return ObjectChange(identity(item), "changed" if fields else "unchanged", fields)


def _plan_removal(target: Target, identities: Iterable[Identity]) -> list[ObjectChange]:
    changes, refusals = [], []
    for item in identities:
        there = _find(target, item)
        if there is None:
            continue
        try:
            _check_owner(target, there)
        except _RefusedError as error:
            refusals.append(str(error))
        is_kept = keys.KEEP.items() <= there["metadata"].get("annotations", {}).items()
        changes.append(ObjectChange(item, "kept" if is_kept else "deleted"))
    if refusals:
        raise TfgenError("nothing is removed:\n" + "\n".join(refusals))
    return changes


def _check_owner(target: Target, there: Object) -> None:
    owner = owner_of(there)
    if owner and not target.is_forced:
        name = f"{there['kind']} {there['metadata']['name']}"
        raise _RefusedError(f"{name}: {owner} looks after it; commit the change, or take it over by --force")


def _refusal(error: ApiError) -> str:
    return f"{error}; --force takes it over" if error.status == CONFLICT else str(error)


def _replicas(item: Object) -> int | None:
    return data_path.at(item, ("spec", "replicas")) if item["kind"] == "StatefulSet" else None


def _content(item: Object) -> dict[str, Any]:
    """An object without its status, and without what the server writes of it."""
    metadata = {key: value for key, value in item["metadata"].items() if key not in _NO_DIFFERENCE}
    return {key: value for key, value in item.items() if key != "status"} | {"metadata": metadata}


def _patch(target: Target, item: Object, *, is_trial: bool) -> Object:
    query = {
        "fieldManager": MANAGER,
        "fieldValidation": "Strict",
        **({"force": "true"} if target.is_forced else {}),
        **({"dryRun": "All"} if is_trial else {}),
    }
    path = _resource(target, identity(item)).at(target.namespace, item["metadata"]["name"])
    applied: Object = target.api.data("PATCH", path, query, item, _APPLY)
    return applied


def _find(target: Target, item: Identity) -> Object | None:
    resource = target.api.resource(*item[:2])
    if resource is None:
        return None
    try:
        there: Object = target.api.data("GET", resource.at(target.namespace, item[2]))
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        return None
    return there


def _delete(target: Target, item: Identity) -> None:
    try:
        path = _resource(target, item).at(target.namespace, item[2])
        target.api.data("DELETE", path, {}, _BACKGROUND, "application/json")
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise


def _resource(target: Target, item: Identity) -> Resource:
    resource = target.api.resource(*item[:2])
    if resource is None:
        raise ApiError(NOT_FOUND, f"the cluster has no kind {item[1]} of {item[0]}; install what brings it")
    return resource


def _inventory_identity(target: Target) -> Identity:
    return "v1", "ConfigMap", f"{target.job}.tfgen"  # no name of a job has a dot


def _inventory(target: Target) -> list[Identity]:
    """What was applied last."""
    there = _find(target, _inventory_identity(target))
    listed: list[list[str]] = json.loads(data_path.at(there, ("data", _KEY)) or "[]") if there else []
    return [(version, kind, name) for version, kind, name in listed]


def _write_inventory(target: Target, identities: Mapping[Identity, object]) -> None:
    version, kind, name = _inventory_identity(target)
    item = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "labels": {keys.NAME: target.job, keys.MANAGED_BY: MANAGER}},
        "data": {_KEY: json.dumps([list(item) for item in identities])},
    }
    _patch(target, item, is_trial=False)


def _name(item: Identity) -> str:
    return f"{item[1]} {item[2]}"
