"""``tfgen delete``: delete the objects of a job from a cluster. Claims are deleted only with --claim."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import change_arguments, print_changes, read_deletion_target, run_arguments
from tfgen.cli.output import print_result

_SUMMARY: Final = "delete the objects of a job from a cluster, except the claims"
_EXAMPLE: Final = "tfgen delete job.yaml --env dev"


def _arguments(parser: ArgumentParser) -> None:
    run_arguments(parser, may_be_removed=True)
    change_arguments(
        parser,
        dry_run="print the objects that the command would delete, and delete nothing",
        force="also delete objects that another tool or user manages",
    )
    parser.add_argument(
        "--claim", action="append", default=[], metavar="NAME", help="also delete this claim and its data; repeatable"
    )


def _run(args: Namespace) -> int:
    from tfgen.commands.delete import delete, plan_delete

    target, objects = read_deletion_target(args)
    changes = plan_delete(target, objects, args.claim)
    print_changes(args, changes if args.dry_run else delete(target, changes), is_detailed=False)
    if not changes and args.format == "text":
        print_result(f"nothing to delete: the namespace {target.namespace} has no object of {target.full_name}")
    return PROBLEMS if any(change.outcome == "left" for change in changes) else OK


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
