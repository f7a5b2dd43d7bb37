"""``tfgen wait``: wait until a run ends, and print a line for each change of the state."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.arguments import option, release_arguments, run_arguments, seconds
from tfgen.cli.live import read_run, wait_for_run
from tfgen.cli.output import OK, PROBLEMS, print_json
from tfgen.report.status import rows

EXAMPLE: Final = "tfgen wait job.yaml --env prod --timeout 2h"


def arguments(parser: ArgumentParser) -> None:
    run_arguments(parser, may_be_removed=True)
    option(parser, "--timeout", "TIME", "the maximum time, such as 2h (default: no limit)", seconds)
    release_arguments(parser)


def run(args: Namespace) -> int:
    run = read_run(args)
    state = wait_for_run(args, run, ends_when_running=False)
    if args.format == "json":
        print_json({"runs": rows([state])})
    return OK if state.end and state.end.result == "Succeeded" and not state.is_stuck else PROBLEMS
