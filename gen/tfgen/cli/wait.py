"""``tfgen wait``: wait until a run ends, and print a line for each change of the state."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import read_run, release_arguments, run_arguments, seconds, wait_for_run
from tfgen.cli.output import print_json

_SUMMARY: Final = "wait until a run ends, and exit with code 0 if the run succeeded"
_EXAMPLE: Final = "tfgen wait job.yaml --env prod --timeout 2h"


def _arguments(parser: ArgumentParser) -> None:
    run_arguments(parser, may_be_removed=True)
    parser.add_argument(
        "--timeout", type=seconds, metavar="TIME", help="the maximum time, such as 2h (default: no limit)"
    )
    release_arguments(parser)


def _run(args: Namespace) -> int:
    from tfgen.report.status import rows

    run = read_run(args)
    state = wait_for_run(args, run, ends_when_running=False)
    if args.format == "json":
        print_json({"runs": rows([state])})
    return OK if state.end and state.end.result == "Succeeded" and not state.is_stuck else PROBLEMS


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
