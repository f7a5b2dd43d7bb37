"""``tfgen check``: report the problems of jobs and of their rendered files, and the changes that need a new run."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from functools import partial
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.output import (
    against_argument,
    jobs_argument,
    out_argument,
    print_json,
    print_message,
    print_result,
    problem_text,
    with_progress,
)
from tfgen.words import count

if TYPE_CHECKING:
    from tfgen.commands.pipeline.check_report import Report

_SUMMARY: Final = "report the problems of jobs and of their rendered files, and the changes that need a new run"
_EXAMPLE: Final = "tfgen check jobs --against origin/main --format github"
_FORMATS: Final = ("text", "json", "github", "sarif")


def _arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser)
    against_argument(parser)
    parser.add_argument(
        "--changed",
        action="store_true",
        help="skip the checks of objects and rendered files for jobs that are unchanged since the revision of "
        "--against",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="render every job and compare the result with the files on disk, without the cache",
    )
    out_argument(parser)
    parser.add_argument(
        "--read",
        choices=("disk", "index", "commit"),
        default="",
        metavar="VERSION",
        help="read the files on disk, in the index of git or in the last commit (disk, index or commit; default: "
        "commit with --verify or another revision if the files on disk equal the commit, otherwise disk)",
    )
    parser.add_argument(
        "--no-files",
        action="store_true",
        help="skip the comparison with rendered files, for a branch without charts/ and overlays/",
    )
    parser.add_argument(
        "--kubernetes-version",
        metavar="VERSION",
        help="validate the objects against the schemas of this Kubernetes version, such as 1.33 (needs "
        "kubernetes-validate)",
    )


def _run(args: Namespace) -> int:
    from tfgen.commands.check import CheckOptions, check_paths
    from tfgen.errors import UsageError, has_errors

    if args.verify and (args.changed or args.no_files):
        raise UsageError("--verify compares the files of every job; remove --changed and --no-files")
    options = CheckOptions(
        against=args.against,
        version=args.read,
        out=args.out,
        skips_files=args.no_files,
        is_quick=args.changed,
        is_verified=args.verify,
        kubernetes_version=args.kubernetes_version,
    )
    report = check_paths(args.jobs, options, partial(with_progress, work="checking"))
    _print(args, report)
    return PROBLEMS if has_errors(report.problems) else OK


def _print(args: Namespace, report: Report) -> None:
    from tfgen.git.tree import DISK
    from tfgen.report.problems import as_github, rows

    match args.format:
        case "json":
            print_json({"problems": rows(report.problems), "notes": report.notes, "read": report.version})
        case "sarif":
            from tfgen.report.rule_summaries import rule_summaries
            from tfgen.report.sarif import sarif

            print_json(sarif(report.problems, report.notes, rule_summaries()))
        case _:
            is_github = args.format == "github"
            print_result(as_github(report.problems) if is_github else problem_text(report.problems, sys.stdout), end="")
            for note in report.notes:
                print_message(f"note: {note}")
            errors = sum(problem.severity == "error" for problem in report.problems)
            print_message(
                f"{count(errors, 'error')}, {count(len(report.problems) - errors, 'warning')}; "
                f"{count(report.compared, 'job')} compared with {args.against}"
                f"{'' if report.version == DISK.title else f'; read {report.version}'}"
            )


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE, _FORMATS)
