"""``tfgen apply``: apply the objects of a job to a cluster without a GitOps tool."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import (
    change_arguments,
    print_changes,
    read_run,
    read_target,
    run_arguments,
    seconds,
    wait_for_run,
)
from tfgen.errors import UsageError

_SUMMARY: Final = "apply the objects of a job to a cluster, without a GitOps tool"
_EXAMPLE: Final = "tfgen apply job.yaml --env dev --dry-run"


def _arguments(parser: ArgumentParser) -> None:
    run_arguments(parser)
    change_arguments(
        parser,
        dry_run="print the fields that the server would change, and apply nothing",
        force="also change objects and fields that another tool or user manages",
    )
    parser.add_argument("--wait", action="store_true", help="wait until all tasks run or the run has ended")
    parser.add_argument("--timeout", type=seconds, metavar="TIME", help="with --wait: the maximum time, such as 10m")


def _run(args: Namespace) -> int:
    from tfgen.commands.apply import apply, plan_apply

    if args.dry_run and args.wait:
        raise UsageError("--dry-run applies nothing, so --wait has no run to wait for; remove --wait or --dry-run")
    if args.timeout is not None and not args.wait:
        raise UsageError("--timeout needs --wait")
    target, objects = read_target(args)
    changes = plan_apply(target, objects)
    print_changes(args, changes if args.dry_run else apply(target, objects, changes), is_detailed=args.dry_run)
    is_left = any(change.outcome == "left" for change in changes)
    return (_wait(args) if args.wait else OK) or (PROBLEMS if is_left else OK)


def _wait(args: Namespace) -> int:
    """Wait until all tasks of the run are running or the run has ended, and return the exit code."""
    run = read_run(args)
    state = wait_for_run(args, run, ends_when_running=True)
    is_ok = state.end.result == "Succeeded" and not state.is_stuck if state.end else state.phase == "Running"
    return OK if is_ok else PROBLEMS


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
