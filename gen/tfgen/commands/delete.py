"""``tfgen delete``: delete the objects of a job from a cluster. Claims are deleted only with --claim.

tfgen deletes only objects that the job owns (`live/target.py`). tfgen keeps the objects that other
environments of the job have in the same namespace. tfgen deletes a claim only if the user names the claim.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from tfgen.cli.arguments import cluster_arguments, flag, repeatable, run_arguments
from tfgen.cli.live import print_changes, read_deletion_target
from tfgen.cli.output import OK, PROBLEMS, print_result
from tfgen.errors import TfgenError, UsageError
from tfgen.kubernetes.object import Object, identity
from tfgen.live.run import Identity, is_finisher
from tfgen.live.target import (
    CLAIM,
    ObjectChange,
    ObjectRefusedError,
    Target,
    check_owner,
    delete_inventory,
    delete_object,
    find_object,
    in_apply_order,
    is_kept,
    objects_of_neighbors,
    ownership,
    refusal_lines,
)
from tfgen.words import either

EXAMPLE: Final = "tfgen delete job.yaml --env dev"


def arguments(parser: ArgumentParser) -> None:
    run_arguments(parser, may_be_removed=True)
    flag(parser, "--dry-run", "print the objects that the command would delete, and delete nothing")
    flag(parser, "--force", "also delete objects that another tool or user manages")
    cluster_arguments(parser)
    repeatable(parser, "--claim", "NAME", "also delete this claim and its data; repeatable")


def run(args: Namespace) -> int:
    target, objects = read_deletion_target(args)
    changes = plan_delete(target, objects, args.claim)
    print_changes(args, changes if args.dry_run else delete(target, changes), is_detailed=False)
    if not changes and args.format == "text":
        print_result(f"nothing to delete: the namespace {target.namespace} has no object of {target.full_name}")
    return PROBLEMS if any(change.outcome == "left" for change in changes) else OK


_NAME: Final = re.compile(r"[a-z0-9.-]+")
"""Pattern of an object name. In the URL of a request, other text could address a different resource."""


def plan_delete(target: Target, objects: Sequence[Object], claims: Collection[str] = ()) -> list[ObjectChange]:
    """Return the planned removal of each object of job.yaml and of the last apply.

    The objects are in the reverse order of an apply, with the finisher at the end.

    Args:
        target: the cluster and namespace.
        objects: the objects of job.yaml.
        claims: the names of the claims to delete as well.

    Raises:
        UsageError: a claim that the user names does not exist in the namespace.
        TfgenError: another tool manages an object. The message lists all such objects.
        ApiError: the user may not read the objects.
    """
    names = [name for name in claims if _NAME.fullmatch(name)]
    identities = [*(identity(item) for item in in_apply_order(objects)), *((*CLAIM, name) for name in names)]
    candidates = reversed(list(dict.fromkeys([*target.inventory, *identities])))
    live_objects = {item: live for item in candidates if (live := find_object(target, item))}
    missing = [name for name in claims if (*CLAIM, name) not in live_objects]
    if missing:
        names = [item[2] for item in live_objects if item[:2] == CLAIM]
        hint = f"; choose {either(names)}" if names else ""
        raise UsageError(f"--claim: the namespace {target.namespace} has no claim {either(missing, 'and')}{hint}")
    titles = objects_of_neighbors(target, live_objects)
    # If a deletion fails, the finisher can still release tasks.
    finishers = tuple(f"{item[2]}-" for item, live in live_objects.items() if is_finisher(live))
    finisher_last = sorted(live_objects.items(), key=lambda entry: f"{entry[0][2]}-".startswith(finishers))
    changes = [_removal(target, live, claims, neighbor=titles.get(item, "")) for item, live in finisher_last]
    _check_owners(target, changes, live_objects)
    # A wrong server may not have the kind of an object of the last apply.
    lacking = "the server has no kind {1} of {0}; check the address of the server"
    missing_kinds = [item for item in target.inventory if target.api.resource(*item[:2]) is None]
    left = [ObjectChange(item, "left", reason=lacking.format(*item)) for item in missing_kinds]
    return [*left, *changes]


def delete(target: Target, changes: Iterable[ObjectChange]) -> Iterator[ObjectChange]:
    """Delete the planned objects from the cluster, and yield each change after it is made.

    Raises:
        ApiError: the server refuses a removal.
        TfgenError: the server does not answer in time.
    """
    for change in changes:
        live = find_object(target, change.identity) if change.outcome == "deleted" else None
        if live is not None:
            delete_object(target, live)
        yield change
    delete_inventory(target)


def plan_prune(target: Target, identities: Sequence[Identity]) -> list[ObjectChange]:
    """Return the planned removal of each object in `identities`: objects that job.yaml no longer has.

    Raises:
        TfgenError: another tool manages an object. The message lists all such objects.
        ApiError: the user may not read the objects.
    """
    titles = objects_of_neighbors(target, identities) if identities else {}
    live_objects = {item: live for item in identities if item not in titles and (live := find_object(target, item))}
    changes = [_removal(target, live, ()) for live in live_objects.values()]
    _check_owners(target, changes, live_objects)
    return changes


def _check_owners(target: Target, changes: Iterable[ObjectChange], live_objects: Mapping[Identity, Object]) -> None:
    """Raise TfgenError if another tool manages an object that tfgen would delete."""
    refusals = []
    for change in changes:
        try:
            if change.outcome != "left":
                check_owner(target, live_objects[change.identity])
        except ObjectRefusedError as error:
            refusals.append(error)
    if refusals:
        raise TfgenError(f"nothing was deleted:\n{refusal_lines(refusals)}")


def _removal(target: Target, live: Object, claims: Collection[str], neighbor: str = "") -> ObjectChange:
    """Return the planned outcome for an object: deleted, kept, or left because the job does not own the object.

    Args:
        target: the cluster and namespace.
        live: the object in the cluster.
        claims: the names of the claims to delete as well.
        neighbor: the title of another environment that has the object; empty if no other environment has the object.
    """
    item, owner = identity(live), ownership(target, live)
    if not owner.is_own:
        return ObjectChange(item, "left", reason=owner.reason)
    is_named = item[:2] == CLAIM and item[2] in claims
    if neighbor and (is_named or not is_kept(live)):
        return ObjectChange(item, "left" if is_named else "kept", reason=f"{neighbor} also has the object")
    return ObjectChange(item, "kept" if is_kept(live) and not is_named else "deleted", reason=owner.reason)
