"""``tfgen status``: print the state of a run in its cluster, or of all runs of the repository."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tfgen.cli.arguments import flag, job_name_argument, option, path, release_arguments
from tfgen.cli.live import clusters_of, last_runs, read_all_runs, read_run
from tfgen.cli.output import OK, PROBLEMS, is_in_colour, print_json
from tfgen.errors import UsageError
from tfgen.job.sources import output_root
from tfgen.live.api import FOLLOWING, ONCE
from tfgen.live.clusters import UndeclaredRun, find_undeclared_runs, follow_states, read_states
from tfgen.live.run import DeclaredRun
from tfgen.live.run_state import RunState
from tfgen.report.status import as_table, as_text, rows, screen, tree_lines, undeclared_rows, undeclared_text
from tfgen.words import for_terminal

EXAMPLE: Final = "tfgen status job.yaml"

_CLEAR: Final = "\033[2J"
_HOME: Final = "\033[H"
_CLEAR_LINE: Final = "\033[K"
_CLEAR_BELOW: Final = "\033[J"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "job",
        nargs="?",
        type=path,
        metavar="JOB|NAME",
        help="a job.yaml, a folder that contains jobs, or the name of a job that was removed from the repository "
        "(default: the repository)",
    )
    job_name_argument(parser)
    option(parser, "--env", "ENV", "the environment (default for a folder: all environments)")
    flag(
        parser,
        "-w --watch",
        "print each new state until the runs have ended; on a terminal, redraw the states in place",
    )
    release_arguments(parser)


def run(args: Namespace) -> int:
    if args.job_name is not None and (args.job is None or args.job.is_dir()):
        raise UsageError("--job needs a job file; pass the path of the file")
    is_one = args.job is not None and not args.job.is_dir()
    runs: Sequence[DeclaredRun]
    try:
        runs = places = [read_run(args, may_be_retired=True)] if is_one else read_all_runs(args)
    except UsageError:
        # A removed job file, or a folder whose jobs were all removed: search for the runs of these jobs.
        if (args.job is not None and args.job.is_file()) or not (places := last_runs(args)):
            raise
        runs, is_one = [], False
    clusters = clusters_of(args, FOLLOWING if args.watch else ONCE)
    if is_one:
        runs = [clusters.with_release_names(run, args.release) for run in runs]
    elif args.release is not None:
        raise UsageError("--release needs a job file; pass the path of the file")
    previous: Sequence[RunState] = ()
    is_screen = args.watch and args.format == "text" and sys.stdout.isatty()
    if is_screen:
        print(_CLEAR, end="")
    if not (args.watch and runs):
        states = read_states(clusters, runs, with_logs=is_one)
        jobs = {run.job for run in runs}
        lost = None if is_one else find_undeclared_runs(clusters, places, jobs, output_root(Path()))
        _show(args, states, is_one=is_one, lost=lost)
        return OK
    for states in follow_states(clusters, runs, with_logs=is_one):
        if is_screen:
            _redraw(states)
        elif states != previous:
            _show(args, states, is_one=is_one)
        previous = states
        if all(state.end or state.is_deleted or not state.run.is_enabled for state in states):
            break
    has_failed = any(state.is_deleted or (state.end and state.end.result != "Succeeded") for state in previous)
    return PROBLEMS if has_failed else OK


def _show(
    args: Namespace, states: Sequence[RunState], *, is_one: bool, lost: Sequence[UndeclaredRun] | None = None
) -> None:
    """Print the states of runs as JSON or text. With `is_one`, the text shows all details of the single run.

    `lost` contains the runs whose job file is gone; None if tfgen did not search for such runs.
    """
    if args.format == "json":
        print_json({"runs": rows(states), **({} if lost is None else {"withoutJobFile": undeclared_rows(lost)})})
        return
    now = datetime.now(UTC)
    text = as_text(states[0], now) if is_one else as_table(states, now) if states else ""
    text += undeclared_text(lost or (), has_jobs=bool(states))
    print(for_terminal(text), end="", flush=True)


def _redraw(states: Sequence[RunState]) -> None:
    """Draw the states of the runs over the previous states. The screen is not cleared in between."""
    size = shutil.get_terminal_size()
    lines = [for_terminal(line) for line in tree_lines(states, datetime.now(UTC))]
    text = screen(lines, size.columns, size.lines, colour=is_in_colour(sys.stdout))
    drawn = text.replace("\n", f"{_CLEAR_LINE}\n")
    print(f"{_HOME}{drawn}{_CLEAR_BELOW}", end="", flush=True)
