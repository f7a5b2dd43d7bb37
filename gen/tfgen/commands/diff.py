"""``tfgen diff``: compare the objects of jobs with the objects of a git revision, or with the objects in a cluster."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.change.comparison import PairPlaces, pair_jobs
from tfgen.change.job_diff import JobDiff, claim_users, diff_job
from tfgen.check.jobs import check_in_processes
from tfgen.cli.arguments import Watched, against_argument, cluster_arguments, flag, job_name_argument, jobs_argument
from tfgen.cli.output import OK, PROBLEMS, is_in_colour, print_json, print_message, print_result, with_progress
from tfgen.errors import UsageError, stop_at_errors
from tfgen.git.tree import CommitTree
from tfgen.job.sources import read_sources, removed_files
from tfgen.report.diff import diff_markdown, diff_text, rows
from tfgen.report.problems import rows as problem_rows
from tfgen.words import count
from tfgen.workers import map_items

EXAMPLE: Final = "tfgen diff jobs --format markdown"
FORMATS: Final = ("text", "json", "markdown")
WATCHED: Final = Watched(refuses=("live",))


def arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser)
    against_argument(parser)
    job_name_argument(parser)
    flag(parser, "--live", "compare one job with its cluster")
    parser.add_argument("--env", metavar="ENV", help="with --live: the environment (default: none)")
    flag(parser, "--exit-code", "exit with code 1 if an object differs")
    cluster_arguments(parser)


def run(args: Namespace) -> int:
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
    if len(args.jobs) != 1 or args.format == "markdown":
        raise UsageError("--live compares one job, and prints text or JSON")
    from tfgen.cli.live import print_changes, read_target  # takes 100 ms, which only --live needs
    from tfgen.commands.apply import plan_apply  # 10 ms

    (args.job,), args.force = args.jobs, True
    changes = [change for change in plan_apply(*read_target(args)) if change.outcome not in ("unchanged", "kept")]
    print_changes(args, changes, is_detailed=True)
    return PROBLEMS if changes and args.exit_code else OK


def _run_in_git(args: Namespace) -> int:
    try:
        sources = read_sources(args.jobs)
    except UsageError:
        if not removed_files(args.jobs, CommitTree(args.against)):
            raise
        sources = read_sources(args.jobs, may_be_none=True)
    jobs = check_in_processes(sources)
    stop_at_errors(jobs.problems)
    matched = pair_jobs(jobs, args.against, removed_files(args.jobs, CommitTree(args.against)))
    diffs = [*with_progress(map_items(_diff, matched.pairs), len(matched.pairs), "comparing")]
    users = {claim: job for _, _, users_of_job in diffs for claim, job in users_of_job.items()}
    changed = tuple(diff.with_users(users) for diff, _, _ in diffs if diff)
    kept = (diff.name for diff, stays, _ in diffs if diff and stays)  # only a tfgen.yaml of the job has changed
    advice = "keeps its committed files until its job file changes, or until tfgen render --upgrade"
    for note in (*matched.notes, *(f"{name} {advice}" for name in kept)):
        print_message(f"note: {note}")
    match args.format:
        case "json":
            problems = problem_rows(jobs.problems)
            print_json({"against": args.against, "jobs": [rows(job) for job in changed], "problems": problems})
        case "markdown":
            print_result(diff_markdown(changed), end="")
        case _:
            print(diff_text(changed, colour=is_in_colour(sys.stdout)), end="")
            print_message(f"{count(len(changed), 'job')} of {len(diffs)} changed since {args.against}")
    return PROBLEMS if changed and args.exit_code else OK


def _diff(places: PairPlaces) -> tuple[JobDiff | None, bool, dict[str, str]]:
    """Return the changes of a job, whether the text of the job is unchanged, and the user of each claim.

    The changes are None if the job file and its tfgen.yaml files are unchanged. The third item is a mapping from the
    name of each claim of the job to the name of the job, such as {"mnist-model": "mnist"}.
    """
    if places.is_unchanged:
        return None, True, {}
    pair = places.read()
    return diff_job(pair), pair.has_same_text, claim_users(pair.after)
