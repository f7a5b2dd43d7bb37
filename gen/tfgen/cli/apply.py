"""``tfgen apply``: a job's objects into a cluster that no GitOps tool looks after."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import change_arguments, print_changes, target_of


def _arguments(parser: ArgumentParser) -> None:
    change_arguments(parser, dry_run="show what the server would change, field by field")


def _run(args: Namespace) -> int:
    from tfgen.commands.apply import apply, plan_apply

    place = target_of(args)
    if place is None:
        return PROBLEMS
    target, objects = place
    changes = plan_apply(target, objects)
    print_changes(args, changes if args.dry_run else apply(target, objects, changes), is_detailed=args.dry_run)
    return OK


COMMAND: Final = Command(
    "apply",
    "apply a job's objects to a cluster, without a GitOps tool",
    _arguments,
    _run,
    example="tfgen apply job.yaml --env dev --dry-run",
)
