"""``tfgen diff``: compare the objects of jobs with the objects of a git revision, or with the objects in a cluster."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from functools import partial
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import cluster_arguments, print_changes, read_target
from tfgen.cli.output import (
    against_argument,
    is_in_colour,
    job_name_argument,
    jobs_argument,
    print_json,
    print_message,
    print_result,
    with_progress,
)
from tfgen.errors import UsageError, stop_at_errors
from tfgen.words import count

_SUMMARY: Final = "print the changes of each object of a job"
_EXAMPLE: Final = "tfgen diff jobs --format markdown"
_FORMATS: Final = ("text", "json", "markdown")


def _arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser)
    against_argument(parser)
    job_name_argument(parser)
    parser.add_argument("--live", action="store_true", help="compare one job with its cluster")
    parser.add_argument("--env", metavar="ENV", help="with --live: the environment (default: none)")
    parser.add_argument("--exit-code", action="store_true", help="exit with code 1 if an object differs")
    cluster_arguments(parser)


def _run(args: Namespace) -> int:
    if args.live:
        return _run_live(args)
    if (args.job_name, args.env, args.kubeconfig, args.context, args.namespace) != (None,) * 5:
        raise UsageError(
            "--job, --env, --kubeconfig, --context and --namespace need --live; a comparison with git covers all "
            "environments"
        )
    return _run_in_git(args)


def _run_live(args: Namespace) -> int:
    """Print the changes that `tfgen apply --force` would make, according to a dry run on the server."""
    from tfgen.commands.apply import plan_apply

    if len(args.jobs) != 1 or args.format == "markdown":
        raise UsageError("--live compares one job, and prints text or JSON")
    (args.job,), args.force = args.jobs, True
    changes = [change for change in plan_apply(*read_target(args)) if change.outcome not in ("unchanged", "kept")]
    print_changes(args, changes, is_detailed=True)
    return PROBLEMS if changes and args.exit_code else OK


def _run_in_git(args: Namespace) -> int:
    from tfgen.check.jobs import check_in_processes
    from tfgen.commands.diff import diff_jobs
    from tfgen.git.tree import CommitTree
    from tfgen.job.sources import read_sources, removed_files
    from tfgen.report.diff_json import rows
    from tfgen.report.diff_markdown import diff_markdown
    from tfgen.report.diff_text import diff_text
    from tfgen.report.problems import rows as problem_rows

    try:
        sources = read_sources(args.jobs)
    except UsageError:
        if not removed_files(args.jobs, CommitTree(args.against)):
            raise
        sources = read_sources(args.jobs, may_be_none=True)
    jobs = check_in_processes(sources)
    stop_at_errors(jobs.problems)
    diff = diff_jobs(jobs, args.jobs, args.against, partial(with_progress, work="comparing"))
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


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE, _FORMATS)
