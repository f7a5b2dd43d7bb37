"""``tfgen init``: a commented job.yaml to start from, or a repository of such."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from tfgen.cli.command import OK, Command
from tfgen.cli.output import path, print_json


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the job's name")
    parser.add_argument(
        "--out", type=path, default=Path(), metavar="DIR", help="where NAME/, or the repository, is made"
    )
    parser.add_argument("--repo", action="store_true", help="lay out a GitOps repository with this as its first job")


def _run(args: Namespace) -> int:
    from tfgen.commands.init import new_job, new_repository, write_new

    if args.repo:
        paths = write_new(args.out, new_repository(args.name))
    else:
        paths = write_new(args.out / args.name, new_job(args.name))
    if args.format == "json":
        print_json({"created": [str(path) for path in paths]})
    else:
        print("".join(f"created  {path}\n" for path in paths), end="")
        print(f"\nNext:\n\n  tfgen render {paths[0]}")
    return OK


COMMAND: Final = Command(
    "init",
    "write a commented job.yaml to start from, or a whole repository",
    _arguments,
    _run,
    example="tfgen init mnist --repo",
)
