"""``tfgen merge-driver``: merge one rendered file. git runs this command during a merge."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.output import path, print_json

_SUMMARY: Final = "merge a rendered file when git merges two branches"
_EXAMPLE: Final = "tfgen merge-driver .merge_O .merge_A .merge_B charts/cifar/Chart.yaml"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("base", type=path, metavar="BASE", help="the version of the common ancestor")
    parser.add_argument(
        "ours", type=path, metavar="OURS", help="the version of the current branch; the result overwrites this file"
    )
    parser.add_argument("theirs", type=path, metavar="THEIRS", help="the version of the merged branch")
    parser.add_argument("path", metavar="NAME", help="the path of the file in the repository")


def _run(args: Namespace) -> int:
    from tfgen.commands.merge_driver import merge_file

    is_merged = merge_file(args.base, args.ours, args.theirs, args.path)
    if args.format == "json":
        print_json({"merged": is_merged})
    return OK if is_merged else PROBLEMS


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
