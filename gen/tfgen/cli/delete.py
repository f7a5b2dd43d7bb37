"""``tfgen delete``: a job's objects out of a cluster. Claims are kept."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import change_arguments, print_changes, target_of


def _arguments(parser: ArgumentParser) -> None:
    change_arguments(parser, dry_run="show what would be removed")


def _run(args: Namespace) -> int:
    from tfgen.commands.apply import delete, plan_delete

    place = target_of(args)
    if place is None:
        return PROBLEMS
    target, objects = place
    changes = plan_delete(target, objects)
    print_changes(args, changes if args.dry_run else delete(target, changes), is_detailed=False)
    return OK


COMMAND: Final = Command(
    "delete",
    "remove a job's objects from a cluster, but its claims",
    _arguments,
    _run,
    example="tfgen delete job.yaml --env dev",
)
