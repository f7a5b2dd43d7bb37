"""``tfgen set``: values written into job.yaml, and nothing else in it changed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.output import job_name_argument, path, print_message, print_result, report
from tfgen.errors import UsageError


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("job", type=path, metavar="JOB", help="a job.yaml")
    job_name_argument(parser)
    parser.add_argument(
        "assignments",
        nargs="+",
        metavar="PATH=VALUE",
        help="such as roles.worker.replicas=4, args[0]=--steps=100 or gang=null, which removes it",
    )
    parser.add_argument("--env", metavar="ENV", help="set the values of this environment")


def _run(args: Namespace) -> int:
    from tfgen.commands.set import set_values
    from tfgen.job.sources import read_sources
    from tfgen.problems import has_errors
    from tfgen.tree.disk_file import read_text, replace_text

    file = args.job
    if not file.is_file():
        raise UsageError(f"{file}: values are set in one job's file")
    text = read_text(file)
    (source,) = read_sources([file])
    new = set_values(source, text, args.assignments, args.env, args.job_name)
    is_wrong = has_errors(new.problems)
    if not is_wrong and new.text != text:
        replace_text(file, text, new.text)
    report(args, new.problems, written={"changed": not is_wrong and new.text != text})
    if is_wrong:
        print_message(f"{file}: nothing is written; the lines are those that it would have")
        return PROBLEMS
    if args.format == "text":
        if new.text == text:
            print_result(f"{file}: unchanged")
        else:
            print_result(f"{file}: changed\n\nNext:\n\n  tfgen render {file}")
    return OK


COMMAND: Final = Command(
    "set",
    "set values of a job in its file, and keep all else of it",
    _arguments,
    _run,
    example="tfgen set job.yaml --env prod roles.worker.replicas=8",
)
