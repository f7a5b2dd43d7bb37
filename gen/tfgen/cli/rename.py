"""``tfgen rename``: rename a job in its file and in the rendered files."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import OK, Command
from tfgen.cli.output import (
    ended_runs_data,
    job_name_argument,
    out_argument,
    path,
    print_ended_runs,
    print_json,
    print_remaining,
    print_result,
    read_job,
)

if TYPE_CHECKING:
    from tfgen.commands.rename import Rename

_SUMMARY: Final = "rename a job in its file and in the rendered files"
_EXAMPLE: Final = "tfgen rename job.yaml video --keep-data"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("job", type=path, metavar="JOB|NAME", help="a job.yaml, or the name of a job in the repository")
    parser.add_argument("name", metavar="NEW", help="the new name")
    job_name_argument(parser)
    parser.add_argument(
        "--keep-data",
        action="store_true",
        help="use the existing claims of the job, with their data, under the new name",
    )
    parser.add_argument(
        "--retired",
        action="store_true",
        help="retire the job in all environments, so that no run starts under the new name",
    )
    out_argument(parser)


def _run(args: Namespace) -> int:
    from tfgen.commands.rename import find_job_file, rename_job
    from tfgen.job.facts import name_of
    from tfgen.job.sources import output_root

    if not args.job.exists():
        args.job_name, args.job = str(args.job), find_job_file(str(args.job), args.out)
    document = read_job(args)
    file, job = document.file, name_of(document)
    out = args.out or output_root(Path(file).parent)
    result = rename_job(document, args.name, out, keeps_data=args.keep_data, retires=args.retired)
    if args.format == "json":
        names = {"before": job, "after": args.name}
        print_json(
            {
                "file": file,
                "name": names,
                "claims": result.claims,
                "remaining": result.remaining,
                "ends": ended_runs_data(result.ends),
                "starts": result.starts,
            }
        )
    else:
        print_result(f"{file}: {job} -> {args.name}")
        _print_result(file, job, result)
    return OK


def _print_result(file: str, job: str, result: Rename) -> None:
    from tfgen.words import count

    if result.claims:
        print_result(f"existing claims that the job still uses: {', '.join(result.claims)}")
    if result.created is not None:
        print_result(f"{count(result.created, 'rendered file')} created, {result.removed} removed")
    print_remaining(result.remaining)
    folder = Path(file).absolute().parent
    if folder.name == job:
        print_result(f"the job file remains in the folder {Path(file).parent}")
    print_ended_runs(result.ends)
    for start in result.starts:
        print_result(start)
    print_result(f"\nNext:\n\n  tfgen {'commit' if result.has_runs else 'render'} {file}")


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
