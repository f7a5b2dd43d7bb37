"""``tfgen apply``: a job's objects in a cluster that no GitOps tool looks after.

Each object is applied by the server (https://kubernetes.io/docs/reference/using-api/server-side-apply/). First all are
tried: where the server refuses one of them, none is changed. The inventory lists the objects of the last apply, so that
the next apply removes those that job.yaml has no more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.change.field_diff import FieldChange, field_changes
from tfgen.commands.cluster.inventory import read_inventory, write_inventory
from tfgen.commands.cluster.target import (
    ObjectChange,
    RefusedError,
    Target,
    apply_object,
    check_owner,
    delete_object,
    find_object,
    in_apply_order,
    name_of,
)
from tfgen.commands.delete import plan_prune
from tfgen.errors import TfgenError
from tfgen.kubernetes.object import Object, identity
from tfgen.kubernetes.written_form import written_form
from tfgen.live.api import CONFLICT, ApiError
from tfgen.live.declared_run import Identity, is_finisher
from tfgen.live.refusal import is_immutable

_KINDS_OF_RUN: Final = ("ConfigMap", "Job", "JobSet", "Pod", "StatefulSet")
"""The kinds, Volcano's Job too, whose objects a new run makes anew: docs/runs.md#what-a-run-keeps."""
_POD_SECONDS, _POD_PAUSE = 10.0, 0.1
"""The longest wait for the finisher's pod, and the time between two looks."""
_NO_DIFFERENCE: Final = ("managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink")
"""What the server writes into the metadata of each object."""


def plan_apply(target: Target, objects: Sequence[Object]) -> list[ObjectChange]:
    """What an apply would do, as the server itself says it. Nothing is changed.

    Raises:
        TfgenError: the server refuses an object, or somebody else looks after it; the message has all of them.
        ApiError: the account may not ask.
    """
    changes, refusals = [], []
    for item in in_apply_order(objects):
        try:
            changes.append(_try_apply(target, item))
        except ApiError as error:
            if error.is_forbidden and "is forbidden: User" in str(error):
                raise
            refusals.append(f"{name_of(identity(item))}: {_refusal(target, item, error)}")
        except RefusedError as error:
            refusals.append(str(error))
    if refusals:
        raise TfgenError("nothing is applied:\n" + "\n".join(refusals))
    wanted = {identity(item) for item in objects}
    return [
        *changes,
        *plan_prune(target, (item for item in read_inventory(target, target.environment) if item not in wanted)),
    ]


def apply(target: Target, objects: Sequence[Object], changes: Sequence[ObjectChange]) -> Iterator[ObjectChange]:
    """Do what was planned, in the order of the plan; each is given once it is done.

    Raises:
        ApiError: the server refuses what it took when it was tried.
        TfgenError: there is no answer in time. The next apply goes on.
    """
    by_identity = {identity(item): item for item in objects}
    write_inventory(target, dict.fromkeys([*read_inventory(target, target.environment), *by_identity]))
    for change in changes:
        if change.fate in ("created", "changed"):
            applied = apply_object(target, by_identity[change.identity], is_trial=False)
            if change.fate == "created" and is_finisher(applied):
                _wait_for_pod(target, change.identity)
        elif change.fate == "deleted":
            delete_object(target, change.identity)
        yield change
    write_inventory(target, by_identity)


def live_changes(before: Object, after: Object) -> tuple[FieldChange, ...]:
    """Return the fields that change between two forms of an object in a cluster, whoever wrote the quantities."""
    return tuple(field_changes(written_form(_content(before)), written_form(_content(after))))


def _wait_for_pod(target: Target, finisher: Identity) -> None:
    """Wait until the finisher has its pod, so that no task takes the last place of a quota.

    A quota without any room does not end the apply: the tasks then wait, too, and `tfgen status` names the quota.
    """
    deadline = time.monotonic() + _POD_SECONDS
    while time.monotonic() < deadline:
        live = find_object(target, finisher)
        if live is None or any((live.get("status") or {}).get(key) for key in ("active", "succeeded", "failed")):
            return
        time.sleep(_POD_PAUSE)


def _try_apply(target: Target, item: Object) -> ObjectChange:
    before = find_object(target, identity(item))
    if before is not None:
        check_owner(target, before)
    after = apply_object(target, item, is_trial=True)
    if before is None:
        return ObjectChange(identity(item), "created")
    if (
        not target.is_forced and _replicas(before) == 0 and _replicas(after)
    ):  # nobody owns a number that was scaled to 0
        raise RefusedError(
            f"{name_of(identity(item))}: is scaled to 0, and would start again; give the next run a name by "
            f"{target.rerun}, or start this one by --force"
        )
    fields = live_changes(before, after)
    return ObjectChange(identity(item), "changed" if fields else "unchanged", fields)


def _refusal(target: Target, item: Object, error: ApiError) -> str:
    """Name the cure of a refusal. A conflict may hide a field that no force changes."""
    if error.status == CONFLICT:
        try:
            apply_object(target.replaced(is_forced=True), item, is_trial=True)
        except ApiError as refusal:
            return _refusal(target, item, refusal) if refusal.status != CONFLICT else str(refusal)
        return f"{error}; --force takes it over"
    if is_immutable(str(error)) and item["kind"] in _KINDS_OF_RUN:
        return f"{error}; a run keeps its pods: {target.rerun}"
    return str(error)


def _replicas(item: Object) -> int | None:
    return data_path.at(item, ("spec", "replicas")) if item["kind"] == "StatefulSet" else None


def _content(item: Object) -> dict[str, Any]:
    """An object without its status, and without what the server writes of it."""
    metadata = {key: value for key, value in item["metadata"].items() if key not in _NO_DIFFERENCE}
    return {key: value for key, value in item.items() if key != "status"} | {"metadata": metadata}
