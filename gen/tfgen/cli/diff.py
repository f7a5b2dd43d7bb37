"""``tfgen diff``: what jobs as they are change in the objects of those that are committed, or in a cluster's."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from functools import partial
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import cluster_arguments, print_changes, target_of
from tfgen.cli.output import (
    is_in_colour,
    job_name_argument,
    jobs_argument,
    print_json,
    print_message,
    print_result,
    report,
    with_progress,
)
from tfgen.errors import UsageError
from tfgen.plural import count


def _arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser)
    parser.add_argument("--against", default="HEAD", metavar="REV", help="the revision that is compared with (HEAD)")
    job_name_argument(parser)
    parser.add_argument("--live", action="store_true", help="compare one job with its cluster instead")
    parser.add_argument("--env", metavar="ENV", help="with --live: the environment (else the job itself)")
    parser.add_argument("--exit-code", action="store_true", help="end with 1 where anything changes, as git diff does")
    cluster_arguments(parser)


def _run(args: Namespace) -> int:
    if args.live:
        return _run_live(args)
    if (args.job_name, args.env, args.kubeconfig, args.context, args.namespace) != (None,) * 5:
        message = "--job, --env, --kubeconfig, --context and --namespace go with --live: git has all environments"
        raise UsageError(message)
    return _run_in_git(args)


def _run_live(args: Namespace) -> int:
    """What the server would change, whoever looks after the objects: nothing is applied."""
    from tfgen.commands.apply import plan_apply

    if len(args.jobs) != 1 or args.format == "markdown":
        raise UsageError("--live compares one job, as text or JSON")
    (args.job,), args.force = args.jobs, True
    place = target_of(args)
    if place is None:
        return PROBLEMS
    changes = [change for change in plan_apply(*place) if change.fate not in ("unchanged", "kept")]
    print_changes(args, changes, is_detailed=True)
    return PROBLEMS if changes and args.exit_code else OK


def _run_in_git(args: Namespace) -> int:
    from tfgen.check.jobs import check_in_processes
    from tfgen.commands.diff import diff_jobs
    from tfgen.job.sources import read_sources
    from tfgen.problems import has_errors
    from tfgen.report.diff_json import rows
    from tfgen.report.diff_markdown import diff_markdown
    from tfgen.report.diff_text import diff_text
    from tfgen.report.problems import rows as problem_rows

    jobs = check_in_processes(read_sources(args.jobs))
    if has_errors(jobs.problems):
        report(args, jobs.problems)
        return PROBLEMS
    diff = diff_jobs(jobs, args.jobs, args.against, partial(with_progress, doing="comparing"))
    for note in diff.notes:
        print_message(f"note: {note}")
    match args.format:
        case "json":
            problems = problem_rows(jobs.problems)
            print_json({"against": args.against, "jobs": [rows(job) for job in diff.changed], "problems": problems})
        case "markdown":
            print_result(diff_markdown(diff.changed), end="")
        case _:
            print(diff_text(diff.changed, colour=is_in_colour(sys.stdout)), end="")
            print_message(f"{count(len(diff.changed), 'job')} of {diff.compared} changed since {args.against}")
    return PROBLEMS if diff.changed and args.exit_code else OK


COMMAND: Final = Command(
    "diff",
    "show what jobs change, object by object",
    _arguments,
    _run,
    example="tfgen diff jobs --format markdown",
    formats=("text", "json", "markdown"),
)
