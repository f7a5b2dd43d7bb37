"""``tfgen set``: set values in job.yaml. All other text, such as comments, remains unchanged."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.output import job_argument, print_message, print_result, report
from tfgen.errors import UsageError

_SUMMARY: Final = "set values in a job file, and keep all other text"
_EXAMPLE: Final = "tfgen set job.yaml --env prod roles.worker.replicas=8"


def _arguments(parser: ArgumentParser) -> None:
    job_argument(parser)
    parser.add_argument(
        "assignments",
        nargs="+",
        metavar="PATH=VALUE",
        help="a value, such as roles.worker.replicas=4 or args[0]=--steps=100; null removes the key, as in gang=null",
    )
    parser.add_argument("--env", metavar="ENV", help="set the values of this environment")


def _run(args: Namespace) -> int:
    from tfgen.commands.set import set_values
    from tfgen.disk_file import read_text, replace_text
    from tfgen.errors import has_errors
    from tfgen.job.sources import read_sources

    file = args.job
    if not file.is_file():
        raise UsageError(f"{file}: the file does not exist; pass one job file")
    text = read_text(file)
    (source,) = read_sources([file])
    edited = set_values(source, text, args.assignments, args.env, args.job_name)
    is_invalid = has_errors(edited.problems)
    if not is_invalid and edited.text != text:
        replace_text(file, text, edited.text)
    report(args, edited.problems, written={"changed": not is_invalid and edited.text != text})
    if is_invalid:
        print_message(f"{file}: nothing was written; the line numbers refer to the file with the new values")
        return PROBLEMS
    if args.format == "text":
        if edited.text == text:
            print_result(f"{file}: unchanged")
        else:
            print_result(f"{file}: changed\n\nNext:\n\n  tfgen render {file}")
    return OK


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
