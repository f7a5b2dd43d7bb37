"""``tfgen apply``: a job's objects into a cluster that no GitOps tool looks after."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import change_arguments, one_run_of, print_changes, seconds, target_of, wait_for_run
from tfgen.errors import UsageError


def _arguments(parser: ArgumentParser) -> None:
    change_arguments(parser, dry_run="show what the server would change, field by field")
    parser.add_argument("--wait", action="store_true", help="wait until all tasks run, or the run has ended")
    parser.add_argument("--timeout", type=seconds, metavar="TIME", help="with --wait: how long at most, such as 10m")


def _run(args: Namespace) -> int:
    from tfgen.commands.apply import apply, plan_apply

    if args.dry_run and args.wait:
        raise UsageError("--wait waits for what is applied, and --dry-run applies nothing")
    if args.timeout is not None and not args.wait:
        raise UsageError("--timeout goes with --wait")
    place = target_of(args)
    if place is None:
        return PROBLEMS
    target, objects = place
    changes = plan_apply(target, objects)
    print_changes(args, changes if args.dry_run else apply(target, objects, changes), is_detailed=args.dry_run)
    return _wait(args) if args.wait else OK


def _wait(args: Namespace) -> int:
    """The exit code of a run that has begun, or that has ended already."""
    run = one_run_of(args)
    if run is None:
        return PROBLEMS
    state = wait_for_run(args, run, may_run_on=True)
    is_well = state.end.result == "Succeeded" and not state.is_stuck if state.end else state.phase == "Running"
    return OK if is_well else PROBLEMS


COMMAND: Final = Command(
    "apply",
    "apply a job's objects to a cluster, without a GitOps tool",
    _arguments,
    _run,
    example="tfgen apply job.yaml --env dev --dry-run",
)
