"""``tfgen exec``: run a command in the container of a task, as `kubectl exec` does."""

from __future__ import annotations

import sys
from argparse import PARSER, ArgumentParser, Namespace
from typing import Final

from tfgen.cli.arguments import number, release_arguments, run_arguments
from tfgen.cli.live import check_role, clusters_of, read_run
from tfgen.cli.output import print_json, print_message
from tfgen.errors import TfgenError, UsageError
from tfgen.live.api import ONCE
from tfgen.live.clusters import run_pods, task_pod
from tfgen.live.run_state import leading_role
from tfgen.live.transport import Execution, collect, execute

EXAMPLE: Final = "tfgen exec job.yaml --env prod --role worker --index 1 -- nvidia-smi"


def arguments(parser: ArgumentParser) -> None:
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


def run(args: Namespace) -> int:
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
    role = args.role or leading_role(run)
    pod = task_pod(run_pods(api, live.namespace, run), live.namespace, run, role, args.index)
    execution = Execution(pod, command_words(args), has_stdin=args.stdin, has_terminal=_has_terminal(args))
    if args.format == "text":
        sys.stdout.flush()
        return execute(clusters.access(live), execution, sys.stderr.buffer)
    (result,) = collect(clusters.access(live), [execution])
    if isinstance(result, TfgenError):
        raise result
    stdout, stderr = (output.decode("utf-8", "replace") for output in (result.stdout, result.stderr))
    print_json({"pod": pod["metadata"]["name"], "code": result.code, "stdout": stdout, "stderr": stderr})
    return result.code


def command_words(args: Namespace) -> list[str]:
    """Return the words of the command. Remove the leading `--`, which argparse removes only since Python 3.13."""
    words: list[str] = args.command
    return words[1:] if words[0] == "--" else words


def _has_terminal(args: Namespace) -> bool:
    if args.stdin and sys.stdin is None:
        raise UsageError("--stdin: standard input is closed")
    if not args.tty:
        return False
    if sys.stdin.isatty() and sys.stdout.isatty():
        return True
    print_message("note: the command has no terminal, because standard input or output is not a terminal")
    return False
