"""``tfgen diff``: compare the objects of jobs with the objects of a git revision, or with the objects in a cluster."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tfgen.change.comparison import PairPlaces, pair_jobs
from tfgen.change.job_diff import JobDiff, claim_users, diff_job
from tfgen.check.checked import Checked
from tfgen.check.jobs import check_in_processes
from tfgen.cli.arguments import (
    Watched,
    against_argument,
    cluster_arguments,
    flag,
    job_name_argument,
    jobs_argument,
    option,
)
from tfgen.cli.output import OK, PROBLEMS, is_in_colour, print_json, print_message, print_result, with_progress
from tfgen.errors import UsageError, stop_at_errors
from tfgen.git.tree import CommitTree
from tfgen.job.sources import read_sources, removed_files
from tfgen.pipeline.scope import Track, untracked
from tfgen.record import Record
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
    option(parser, "--env", "ENV", "with --live: the environment (default: none)")
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


class Diff(Record):
    """The result of `tfgen diff`.

    Attributes:
        changed: the changes of each changed job.
        compared: the number of compared jobs, including removed jobs.
        notes: messages about jobs that tfgen did not compare, and about jobs that keep their rendered files. A job
            keeps its rendered files if only a tfgen.yaml has changed, and not the job file.
    """

    changed: tuple[JobDiff, ...]
    compared: int
    notes: tuple[str, ...]


def diff_jobs(jobs: Checked, paths: Sequence[Path], against: str, track: Track = untracked) -> Diff:
    """Compare the objects of valid jobs with the objects in a git revision.

    Args:
        jobs: the checked jobs.
        paths: the files and folders of the command line.
        against: the revision.
        track: reports the progress.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git fails.
    """
    matched = pair_jobs(jobs, against, removed_files(paths, CommitTree(against)))
    diffs = [*track(map_items(_diff, matched.pairs), len(matched.pairs))]
    staying = (
        f"{diff.name} keeps its committed files until its job file changes, or until tfgen render --upgrade"
        for diff, stays, _ in diffs
        if diff and stays
    )
    users = {claim: job for _, _, users_of_job in diffs for claim, job in users_of_job.items()}
    changed = tuple(diff.with_users(users) for diff, _, _ in diffs if diff)
    return Diff(changed, len(diffs), (*matched.notes, *staying))


def _diff(places: PairPlaces) -> tuple[JobDiff | None, bool, dict[str, str]]:
    """Return the changes of a job, whether the text of the job is unchanged, and the user of each claim.

    The changes are None if the job file and its tfgen.yaml files are unchanged. The third item is a mapping from the
    name of each claim of the job to the name of the job, such as {"mnist-model": "mnist"}.
    """
    if places.is_unchanged:
        return None, True, {}
    pair = places.read()
    return diff_job(pair), pair.has_same_text, claim_users(pair.after)
