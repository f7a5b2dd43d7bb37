"""``tfgen explain``: what a key of job.yaml means, or where the values of a job come from."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.output import checked, columns, print_json, report
from tfgen.errors import UsageError


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="such as spec.roles.worker.resources.gpu")
    parser.add_argument(
        "--origin", action="store_true", help="PATH is a job.yaml: say where each of its values is said"
    )
    parser.add_argument("--env", metavar="ENV", help="with --origin: the values of this environment")


def _run(args: Namespace) -> int:
    if args.origin:
        return _origin(args)
    from tfgen.commands.explain import WIDTH, explain

    if args.env is not None:
        raise UsageError("--env goes with --origin")
    text = explain(args.path, min(WIDTH, (columns() or WIDTH) - 2))
    if args.format == "json":
        print_json({"path": args.path, "text": text})
    else:
        print(text, end="")
    return OK


def _origin(args: Namespace) -> int:
    from tfgen.job.origin import as_rows, as_table, origins
    from tfgen.problems import has_errors

    if not args.path:
        raise UsageError("--origin needs a job.yaml")
    jobs = checked([Path(args.path)])
    if has_errors(jobs.problems):
        report(args, jobs.problems)
        return PROBLEMS
    origins_by_job = {document.data["metadata"]["name"]: origins(document, args.env) for document in jobs.documents}
    if args.format == "json":
        print_json({name: as_rows(rows) for name, rows in origins_by_job.items()})
        return OK
    for name, rows in origins_by_job.items():
        if len(origins_by_job) > 1:
            print(f"{name}:")
        print(as_table(rows), end="")
    return OK


COMMAND: Final = Command(
    "explain",
    "say what a key of job.yaml means, or where a job's values are said",
    _arguments,
    _run,
    example="tfgen explain spec.roles.worker.resources.gpu",
)
