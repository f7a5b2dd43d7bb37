"""``tfgen exec``: run a command in the container of a task, as `kubectl exec` does."""

from __future__ import annotations

import sys
from argparse import PARSER, ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import Command
from tfgen.cli.live import check_role, clusters_of, read_run, release_arguments, run_arguments
from tfgen.cli.output import number, print_json, print_message
from tfgen.errors import UsageError

if TYPE_CHECKING:
    from tfgen.live.execution import LocalStreams

_SUMMARY: Final = "run a command in the container of a task, and exit with the exit code of the command"
_EXAMPLE: Final = "tfgen exec job.yaml --env prod --role worker --index 1 -- nvidia-smi"


def _arguments(parser: ArgumentParser) -> None:
    run_arguments(parser, may_be_removed=True)
    # With nargs=PARSER, argparse passes all words after the first word unchanged to the command, even a second --.
    parser.add_argument("command", nargs=PARSER, metavar="COMMAND", help="the command and its arguments, after --")
    parser.add_argument(
        "--role", metavar="ROLE", help="the role of the task (default: chief, or worker in a job without a chief)"
    )
    parser.add_argument(
        "--index", type=number, default=0, metavar="N", help="the index of the task in its role (default: 0)"
    )
    parser.add_argument("-i", "--stdin", action="store_true", help="pass standard input to the command")
    parser.add_argument("-t", "--tty", action="store_true", help="allocate a terminal for the command; needs --stdin")
    release_arguments(parser)


def _run(args: Namespace) -> int:
    from tfgen.live.execution import STDERR, STDOUT, execute
    from tfgen.live.pauses import ONCE
    from tfgen.live.run_state import leading_role
    from tfgen.live.task_pod import task_pod

    if args.tty and not args.stdin:
        raise UsageError("--tty needs --stdin: write -it")
    if args.tty and args.format == "json":
        raise UsageError("--format json cannot contain the output of a terminal; remove --tty or --format json")
    run = read_run(args)
    check_role(args.role, run)
    clusters = clusters_of(args, ONCE)
    run = clusters.with_release_names(run, args.release)
    live = clusters.place(run)
    api = clusters.api(live.context)
    pod = task_pod(api, live.namespace, run, args.role or leading_role(run), args.index)
    output: dict[int, bytes] = {STDOUT: b"", STDERR: b""}
    with _streams(args, output) as streams:
        code = execute(api, live.namespace, pod, command_words(args), streams)
    if args.format == "json":
        stdout, stderr = (output[stream].decode("utf-8", "replace") for stream in (STDOUT, STDERR))
        print_json({"pod": pod["metadata"]["name"], "code": code, "stdout": stdout, "stderr": stderr})
    return code


def command_words(args: Namespace) -> list[str]:
    """Return the words of the command. Remove the leading `--`, which argparse removes only since Python 3.13."""
    words: list[str] = args.command
    return words[1:] if words[0] == "--" else words


@contextmanager
def _streams(args: Namespace, output: dict[int, bytes]) -> Iterator[LocalStreams]:
    """Yield the input and output streams for the command.

    With --format json, the streams do not print the output of the command, but append the output to the values of
    `output`: {1: standard output, 2: standard error}.
    """
    from tfgen.live.execution import STDERR, STDOUT, LocalStreams

    files = {STDOUT: sys.stdout, STDERR: sys.stderr}

    def write(stream: int, data: bytes) -> None:
        files[stream].buffer.write(data)
        files[stream].flush()

    def collect(stream: int, data: bytes) -> None:
        output[stream] += data

    streams = LocalStreams(collect if args.format == "json" else write)
    if not args.stdin:
        yield streams
        return
    if sys.stdin is None:
        raise UsageError("--stdin: standard input is closed")
    streams = streams.replaced(stdin=sys.stdin.fileno())
    if args.tty and sys.stdin.isatty() and sys.stdout.isatty():
        from tfgen.cli.terminal import RawTerminal

        with RawTerminal() as terminal:
            yield streams.replaced(terminal=terminal)
        return
    if args.tty:
        print_message("note: the command has no terminal, because standard input or output is not a terminal")
    yield streams


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
