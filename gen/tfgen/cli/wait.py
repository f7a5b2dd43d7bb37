"""``tfgen wait``: until a run ends, with a line for each change."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.live import cluster_arguments, clusters_of, job_argument, one_run_of, seconds
from tfgen.cli.output import print_json, say
from tfgen.errors import TfgenError

if TYPE_CHECKING:
    from tfgen.live.run_state import RunState

_SECONDS: Final = 2.0
"""Between two looks."""


def _arguments(parser: ArgumentParser) -> None:
    job_argument(parser)
    parser.add_argument("--timeout", type=seconds, metavar="TIME", help="how long at most, such as 2h (for ever)")
    cluster_arguments(parser)


def _run(args: Namespace) -> int:
    from tfgen.commands.status import read_states
    from tfgen.live.pauses import FOLLOWING
    from tfgen.report.status import as_line, rows

    run = one_run_of(args)
    if run is None:
        return PROBLEMS
    deadline = None if args.timeout is None else time.monotonic() + args.timeout
    clusters = clusters_of(args, FOLLOWING.replaced(deadline=deadline))
    state: RunState | None = None
    last, was_there = "", False
    while True:
        (state,) = read_states(clusters, [run], with_logs=True)
        line = as_line(state)
        if line != last:
            say(line) if args.format == "json" else print(line, flush=True)
        if state.end or (was_there and state.phase == "Absent"):
            break
        last, was_there = line, was_there or state.phase != "Absent"
        if deadline is not None and time.monotonic() + _SECONDS > deadline:
            raise TfgenError(f"{run.title}: not at its end after {args.timeout} s; {state.phase}")
        time.sleep(_SECONDS)
    if args.format == "json":
        print_json({"runs": rows([state])})
    return OK if state.end and state.end.result == "Succeeded" else PROBLEMS


COMMAND: Final = Command(
    "wait",
    "wait until a run ends, and give its result as the exit code",
    _arguments,
    _run,
    example="tfgen wait job.yaml --env prod --timeout 2h",
)
