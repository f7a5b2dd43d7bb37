"""``tfgen apply``: apply the objects of a job to a cluster without a GitOps tool.

tfgen uses server-side apply: https://kubernetes.io/docs/reference/using-api/server-side-apply/. First, tfgen sends all
objects in a dry run: if the server rejects one object, tfgen changes no object. The inventory is a ConfigMap that lists
the objects of the last apply that the job owns, so that the next apply can delete the objects that job.yaml no longer
has.
"""

from __future__ import annotations

import re
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.change.field_diff import FieldChange, field_changes
from tfgen.cli.arguments import cluster_arguments, flag, option, run_arguments, seconds
from tfgen.cli.live import print_changes, read_run, read_target, wait_for_run
from tfgen.cli.output import OK, PROBLEMS
from tfgen.commands.delete import plan_prune
from tfgen.errors import TfgenError, UsageError
from tfgen.kubernetes.object import Object, identity
from tfgen.kubernetes.quantity import parse, written_form
from tfgen.live.api import CONFLICT, NOT_FOUND, ApiError, is_immutable
from tfgen.live.run import Identity, is_finisher
from tfgen.live.target import (
    CLAIM,
    ObjectChange,
    ObjectRefusedError,
    Target,
    apply_object,
    check_owner,
    delete_object,
    find_object,
    in_apply_order,
    ownership,
    refusal_lines,
    write_inventory,
)
from tfgen.words import command_line

EXAMPLE: Final = "tfgen apply job.yaml --env dev --dry-run"


def arguments(parser: ArgumentParser) -> None:
    run_arguments(parser)
    flag(parser, "--dry-run", "print the fields that the server would change, and apply nothing")
    flag(parser, "--force", "also change objects and fields that another tool or user manages")
    cluster_arguments(parser)
    flag(parser, "--wait", "wait until all tasks run or the run has ended")
    option(parser, "--timeout", "TIME", "with --wait: the maximum time, such as 10m", seconds)


def run(args: Namespace) -> int:
    if args.dry_run and args.wait:
        raise UsageError("--dry-run applies nothing, so --wait has no run to wait for; remove --wait or --dry-run")
    if args.timeout is not None and not args.wait:
        raise UsageError("--timeout needs --wait")
    target, objects = read_target(args)
    changes = plan_apply(target, objects)
    print_changes(args, changes if args.dry_run else apply(target, objects, changes), is_detailed=args.dry_run)
    is_left = any(change.outcome == "left" for change in changes)
    is_ok = True
    if args.wait:  # until all tasks of the run are running or the run has ended
        state = wait_for_run(args, read_run(args), ends_when_running=True)
        is_ok = state.end.result == "Succeeded" and not state.is_stuck if state.end else state.phase == "Running"
    return PROBLEMS if is_left or not is_ok else OK


_KINDS_OF_RUN: Final = ("ConfigMap", "Job", "JobSet", "Pod", "StatefulSet")
"""The kinds of objects that belong to a single run. Job includes Volcano's Job. See docs/runs.md#what-a-run-keeps."""
_POD_SECONDS, _POD_PAUSE = 10.0, 0.1
"""Maximum time to wait for the pod of the finisher, and the time between two requests, both in seconds."""
_MISSING_NAMESPACE: Final = re.compile(r'namespaces "[^"]*" not found')
_SIZE: Final = ("spec", "resources", "requests", "storage")
_SERVER_FIELDS: Final = ("managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink")
"""The fields of `metadata` that the API server writes."""


def plan_apply(target: Target, objects: Sequence[Object]) -> list[ObjectChange]:
    """Return the changes that an apply would make, according to a dry run on the server.

    Raises:
        TfgenError: the server rejects an object, or another tool manages an object. The message lists all such objects.
        ApiError: the user may not send the requests.
    """
    changes, refusals = [], []
    for item in in_apply_order(objects):
        try:
            changes.append(_try_apply(target, item))
        except ApiError as error:
            if error.is_forbidden and "is forbidden: User" in str(error):
                raise
            refusals.append(ObjectRefusedError(identity(item), _refusal(target, item, error)))
        except ObjectRefusedError as error:
            refusals.append(error)
    if refusals:
        raise TfgenError(f"nothing was applied:\n{refusal_lines(refusals)}")
    identities = {identity(item) for item in objects}
    return [*changes, *plan_prune(target, [item for item in target.inventory if item not in identities])]


def apply(target: Target, objects: Sequence[Object], changes: Sequence[ObjectChange]) -> Iterator[ObjectChange]:
    """Apply the planned changes in order, and yield each change after it is applied.

    Until the end of the apply, the inventory lists the old and the new objects. So if an apply is interrupted, the
    next apply still finds all objects.

    Raises:
        ApiError: the server rejects an object that was accepted in the dry run.
        TfgenError: the server does not answer in time. The next apply continues where this apply stopped.
    """
    by_identity = {identity(item): item for item in objects}
    created = {change.identity: "" for change in changes if change.outcome == "created"}
    write_inventory(target, {**created, **target.inventory})
    uids: dict[Identity, str] = {}
    for change in changes:
        live = find_object(target, change.identity)
        if change.outcome in ("created", "changed"):
            live = apply_object(target, by_identity[change.identity], live, is_dry_run=False)
            if change.outcome == "created" and is_finisher(live):
                _wait_for_pod(target, change.identity)
        elif change.outcome == "deleted" and live is not None:
            delete_object(target, live)
        in_job = change.identity in by_identity
        if live is not None and in_job and (change.identity in created or ownership(target, live).is_own):
            uids[change.identity] = live["metadata"]["uid"]
        yield change
    write_inventory(target, uids)


def live_changes(before: Object, after: Object) -> tuple[FieldChange, ...]:
    """Return the fields that differ between two versions of an object. The status and server fields are ignored.

    Quantities such as `1000m` and `1` are equal.
    """
    return tuple(field_changes(written_form(_content(before)), written_form(_content(after))))


def _wait_for_pod(target: Target, finisher: Identity) -> None:
    """Wait until the finisher has a pod. The finisher starts first, because the tasks may use up a ResourceQuota.

    If the quota is already full, the function returns after a timeout. `tfgen status` then names the quota.
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
    after = apply_object(target, item, before, is_dry_run=True)
    if before is None:
        return ObjectChange(identity(item), "created")
    # After a scale to 0, spec.replicas has no field manager, so the server reports no conflict for this field.
    if not target.is_forced and _replicas(before) == 0 and _replicas(after):
        raise ObjectRefusedError(
            identity(item),
            "the object is scaled to 0, and the apply would start its tasks again; for a new run: "
            f"{target.rerun}; to start this run again, add --force",
        )
    fields = live_changes(before, after)
    note = ownership(target, before).reason
    return ObjectChange(identity(item), "changed" if fields else "unchanged", fields, note)


def _refusal(target: Target, item: Object, error: ApiError) -> str:
    """Return the error message, with the fix, for an object `item` that the server rejected with the error `error`."""
    live = find_object(target, identity(item))
    if error.status == CONFLICT:
        # The object may also have a changed immutable field, for which --force does not help. So try with force.
        try:
            apply_object(target.replaced(is_forced=True), item, live, is_dry_run=True)
        except ApiError as refusal:
            return _refusal(target, item, refusal) if refusal.status != CONFLICT else str(refusal)
        return f"{error}; to take over the fields, add --force"
    if live is not None and not (owner := ownership(target, live)).is_own:
        return f"{error}; {owner.reason}; rename the job, or delete the object with kubectl"
    if error.status == NOT_FOUND and _MISSING_NAMESPACE.search(str(error)):
        return f"{error}; create the namespace: kubectl create namespace {target.namespace}"
    if is_immutable(str(error)) and item["kind"] in _KINDS_OF_RUN:
        return f"{error}; the pods of a run cannot change; for a new run: {target.rerun}"
    if live is None or identity(item)[:2] != CLAIM:
        return str(error)
    size = data_path.at(live, _SIZE)
    if size is not None and parse(data_path.at(item, _SIZE) or 0) < parse(size):
        return f"{error}; a claim cannot shrink: the claim in the cluster has {size}; set its size to at least {size}"
    command = command_line("delete", "JOB", "--claim", item["metadata"]["name"])
    return f"{error}; to create the claim again, without its data: {command}"


def _replicas(item: Object) -> int | None:
    return data_path.at(item, ("spec", "replicas")) if item["kind"] == "StatefulSet" else None


def _content(item: Object) -> dict[str, Any]:
    """Return an object without its status and without the fields that the server writes."""
    metadata = {key: value for key, value in item["metadata"].items() if key not in _SERVER_FIELDS}
    return {key: value for key, value in item.items() if key != "status"} | {"metadata": metadata}
