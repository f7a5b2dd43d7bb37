"""``tfgen rm``: remove a job from git, or retire the job in an environment."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import OK, Command
from tfgen.cli.output import (
    check_jobs,
    ended_runs_data,
    job_name_argument,
    out_argument,
    path,
    print_ended_runs,
    print_json,
    print_message,
    print_remaining,
    print_result,
    read_job,
)

if TYPE_CHECKING:
    from tfgen.change.job_diff import JobDiff

_SUMMARY: Final = "remove a job from git, or retire the job in one environment"
_EXAMPLE: Final = "tfgen rm job.yaml --env prod"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "job", type=path, metavar="JOB|NAME", help="a job.yaml, or the name of a job whose file was deleted"
    )
    job_name_argument(parser)
    parser.add_argument("--env", metavar="ENV", help="only retire the job in this environment; its claims remain")
    out_argument(parser)
    parser.add_argument(
        "--force",
        action="store_true",
        help="also remove a job with uncommitted changes; with a NAME, remove the rendered files even if the job "
        "file exists",
    )


def _run(args: Namespace) -> int:
    return _remove(args) if args.env is None else _retire(args)


def _retire(args: Namespace) -> int:
    from tfgen.change.comparison import Pair
    from tfgen.commands.pipeline.run_ends import run_ends
    from tfgen.commands.remove import check_is_file, retire
    from tfgen.disk_file import read_text, replace_text
    from tfgen.job.facts import name_of

    check_is_file(args.job, args.out)
    document = read_job(args)
    file = Path(document.file)
    before = read_text(file)
    after = retire(before, document, args.env)
    if after != before:
        replace_text(file, before, after)
    retired = next((job for job in check_jobs([file]).documents if name_of(job) == name_of(document)), None)
    ends = [end] if retired and (end := run_ends(Pair(document, retired))) else []
    if args.format == "json":
        print_json({"retired": args.env, "changed": after != before, "ends": ended_runs_data(ends)})
    elif after != before:
        print_result(
            f"{file}: retired in {args.env}; to enable the job again, run tfgen rerun {file} --env {args.env} --enable"
        )
        print_ended_runs(ends)
        _print_deletion(ends, f"{file}{f' --job {args.job_name}' if args.job_name else ''}")
        print_result(f"\nNext:\n\n  tfgen render {file}")
    else:
        print_result(f"{file}: already retired in {args.env}")
    return OK


def _remove(args: Namespace) -> int:
    from tfgen.commands.remove import remove_job

    removed = remove_job(args.job, args.out, force=args.force, name=args.job_name)
    for conflict in removed.lost:
        print_message(f"lost: {conflict}")
    if args.format == "json":
        print_json(
            {
                "removed": removed.files,
                "changed": removed.has_file,
                "remaining": removed.remaining,
                "ends": ended_runs_data(removed.ends),
            }
        )
    else:
        if removed.has_file:
            print_result(f"changed  {args.job}")
        print_result("".join(f"removed  {file}\n" for file in removed.files), end="")
        print_remaining(removed.remaining)
        print_ended_runs(removed.ends)
        _print_deletion(removed.ends, "")
    return OK


def _print_deletion(ends: Sequence[JobDiff], file: str) -> None:
    """Print how to end the runs that `tfgen apply` started. A change in git does not end these runs.

    Args:
        ends: the runs that the change ends.
        file: the job file, with the option --job if the file has several jobs; empty for a removed job.
    """
    for job in ends:
        names = [environment.environment for environment in job.environments if environment.ends_run]
        commands = [f"tfgen delete {file or job.name}{f' --env {name}' if name else ''}" for name in names]
        if commands:
            print_result(
                "a run that tfgen apply started continues; to end the run:\n"
                + "\n".join(f"  {command}" for command in commands)
            )


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
