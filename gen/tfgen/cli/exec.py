"""``tfgen exec``: a command in a task's container, with its streams, its terminal and its exit code."""

from __future__ import annotations

import sys
from argparse import PARSER, ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import PROBLEMS, Command
from tfgen.cli.live import check_role, cluster_arguments, clusters_of, job_argument, one_run_of, release_argument
from tfgen.cli.output import number, print_json, print_message
from tfgen.errors import UsageError

if TYPE_CHECKING:
    from tfgen.live.execution import LocalStreams


def _arguments(parser: ArgumentParser) -> None:
    job_argument(parser)
    # Of what stands behind it, argparse leaves each word as it is, a second -- too.
    parser.add_argument("command", nargs=PARSER, metavar="COMMAND", help="what is run, behind --, with its arguments")
    parser.add_argument(
        "--role", metavar="ROLE", help="of the task, such as worker (the chief, or without one a worker)"
    )
    parser.add_argument("--index", type=number, default=0, metavar="N", help="of the task in its role (0)")
    parser.add_argument("-i", "--stdin", action="store_true", help="pass standard input to the command")
    parser.add_argument("-t", "--tty", action="store_true", help="with --stdin: give the command this terminal")
    release_argument(parser)
    cluster_arguments(parser)


def _run(args: Namespace) -> int:
    from tfgen.live.execution import STDERR, STDOUT, execute
    from tfgen.live.pauses import ONCE
    from tfgen.live.run_state import leading_role
    from tfgen.live.task_pod import task_pod

    if args.tty and not args.stdin:
        raise UsageError("--tty goes with --stdin: -it")
    if args.tty and args.format == "json":
        raise UsageError("what a terminal shows is no data: leave out --tty, or --format json")
    run = one_run_of(args)
    if run is None:
        return PROBLEMS
    check_role(args.role, run)
    clusters = clusters_of(args, ONCE)
    run = clusters.named(run, args.release)
    live = clusters.place(run)
    api = clusters.api(live.context)
    pod = task_pod(api, live.namespace, run, args.role or leading_role(run), args.index)
    kept: dict[int, bytes] = {STDOUT: b"", STDERR: b""}
    with _ends(args, kept) as ends:
        code = execute(api, live.namespace, pod, command_words(args), ends)
    if args.format == "json":
        stdout, stderr = (kept[stream].decode("utf-8", "replace") for stream in (STDOUT, STDERR))
        print_json({"pod": pod["metadata"]["name"], "code": code, "stdout": stdout, "stderr": stderr})
    return code


def command_words(args: Namespace) -> list[str]:
    """The command; before Python 3.13 argparse gives the -- before it, too."""
    words: list[str] = args.command
    return words[1:] if words[0] == "--" else words


@contextmanager
def _ends(args: Namespace, kept: dict[int, bytes]) -> Iterator[LocalStreams]:
    """The streams of this process, and its terminal while it is lent; with JSON, what comes is kept instead."""
    from tfgen.live.execution import STDERR, STDOUT, LocalStreams

    outputs = {STDOUT: sys.stdout, STDERR: sys.stderr}

    def write(stream: int, data: bytes) -> None:
        outputs[stream].buffer.write(data)
        outputs[stream].flush()

    def keep(stream: int, data: bytes) -> None:
        kept[stream] += data

    ends = LocalStreams(keep if args.format == "json" else write)
    if not args.stdin:
        yield ends
        return
    if sys.stdin is None:
        raise UsageError("--stdin: standard input is closed")
    ends = ends.replaced(stdin=sys.stdin.fileno())
    if args.tty and sys.stdin.isatty() and sys.stdout.isatty():
        from tfgen.cli.terminal import RawTerminal

        with RawTerminal() as terminal:
            yield ends.replaced(terminal=terminal)
        return
    if args.tty:
        print_message("note: the command gets no terminal: standard input or output is none")
    yield ends


COMMAND: Final = Command(
    "exec",
    "run a command in a task's container, and give its exit code",
    _arguments,
    _run,
    example="tfgen exec job.yaml --env prod --role worker --index 1 -- nvidia-smi",
)
