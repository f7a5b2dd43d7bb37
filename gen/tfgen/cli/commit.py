"""``tfgen commit``: check and render jobs, and commit the job files with the rendered files."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial
from typing import Final

from tfgen.cli.command import OK, Command
from tfgen.cli.output import commit_data, jobs_argument, out_argument, print_commit, print_json, with_progress

_SUMMARY: Final = "check and render jobs, and commit the job files with the rendered files"
_EXAMPLE: Final = "tfgen commit jobs --push"


def _arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser)
    parser.add_argument(
        "--message", default="", metavar="TEXT", help="the commit message (default: a summary of the changes)"
    )
    parser.add_argument("--branch", default="", metavar="NAME", help="commit to a new branch with this name")
    parser.add_argument(
        "--push", action="store_true", help="push the commit; if the remote branch has new commits, rebase first"
    )
    out_argument(parser)


def _run(args: Namespace) -> int:
    from tfgen.commands.commit import CommitOptions, commit_paths
    from tfgen.job.sources import output_root_of, read_sources

    sources = read_sources(args.jobs, may_be_none=True)
    out = args.out or output_root_of(args.jobs, (source.file for source in sources))
    outcome = commit_paths(
        args.jobs,
        sources,
        CommitOptions(out, args.message, args.branch, args.push),
        has_out_option=args.out is not None,
        track=partial(with_progress, work="checking"),
    )
    if args.format == "json":
        print_json(commit_data(outcome))
    else:
        print_commit(outcome)
    return OK


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
