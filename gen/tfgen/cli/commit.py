"""``tfgen commit``: jobs checked, rendered, and committed with what comes of them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.output import (
    commit_data,
    jobs_argument,
    path,
    print_commit,
    print_json,
    print_message,
    report,
    with_progress,
)


def _arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser)
    parser.add_argument("--message", default="", metavar="TEXT", help="the commit's (else one in words of the jobs)")
    parser.add_argument("--branch", default="", metavar="NAME", help="commit to a new branch of this name")
    parser.add_argument("--push", action="store_true", help="push it, over whatever has landed meanwhile")
    parser.add_argument("--out", type=path, metavar="DIR", help="where charts/ and overlays/ are (the repo's root)")


def _run(args: Namespace) -> int:
    from tfgen.commands.commit import commit_paths
    from tfgen.commands.git.commit_check import ProblemsError
    from tfgen.commands.git.commit_steps import CommitOptions
    from tfgen.job.output_root import output_root_of
    from tfgen.job.sources import read_sources

    sources = read_sources(args.jobs, may_be_none=True)
    out = args.out or output_root_of(args.jobs, (source.file for source in sources))
    try:
        done = commit_paths(
            args.jobs,
            sources,
            CommitOptions(out, args.message, args.branch, args.push),
            is_beside=args.out is not None,
            track=partial(with_progress, doing="checking"),
        )
    except ProblemsError as error:
        report(args, error.problems)
        print_message(str(error))
        return PROBLEMS
    if args.format == "json":
        print_json(commit_data(done))
    else:
        print_commit(done)
    return OK


COMMAND: Final = Command(
    "commit",
    "check jobs, render them, and commit what comes of them",
    _arguments,
    _run,
    example="tfgen commit jobs --push",
)
