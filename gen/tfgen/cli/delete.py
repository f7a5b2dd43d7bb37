"""``tfgen delete``: remove a job's objects from a cluster. A claim goes only where the user names it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import change_arguments, old_target_of, print_changes


def _arguments(parser: ArgumentParser) -> None:
    change_arguments(parser, dry_run="show what would be removed")
    parser.add_argument(
        "--claim", action="append", default=[], metavar="NAME", help="delete this claim and its data, too; repeatable"
    )


def _run(args: Namespace) -> int:
    from tfgen.commands.delete import delete, plan_delete

    place = old_target_of(args)
    if place is None:
        return PROBLEMS
    target, objects = place
    changes = plan_delete(target, objects, args.claim)
    print_changes(args, changes if args.dry_run else delete(target, changes), is_detailed=False)
    return PROBLEMS if any(change.fate == "left" for change in changes) else OK


COMMAND: Final = Command(
    "delete",
    "remove a job's objects from a cluster, but its claims",
    _arguments,
    _run,
    example="tfgen delete job.yaml --env dev",
)
