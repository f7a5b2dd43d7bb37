"""The command line: the only package that prints or exits.

    tfgen render job.yaml

Each command is a module of the package `commands`. `parser.GROUPS` lists the commands.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from tfgen.cli.output import (
    FAILED,
    INTERRUPTED,
    OK,
    PROBLEMS,
    USAGE,
    accept_any_text,
    discard_output,
    print_json,
    print_message,
    report,
)
from tfgen.cli.parser import COMMANDS, parsers, read_arguments
from tfgen.errors import ProblemsError, TfgenError
from tfgen.git.command import shared_readers
from tfgen.words import printable

__all__ = ["COMMANDS", "FAILED", "OK", "PROBLEMS", "USAGE", "main", "run"]

TERMINATED: Final = 143
"""The exit code after SIGTERM: 128 plus the number of the signal, as in shells."""

_COLLECTION_THRESHOLD: Final = 100_000
"""Number of new objects between two garbage collections.

tfgen creates few reference cycles. The default of Python, 700, is for programs that run for a long time.
"""


class _Terminated(BaseException):
    """The exception that the handler of SIGTERM raises, so that context managers clean up as they do after Ctrl-C."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run a command line, and exit with the exit code of the command."""
    signal.signal(signal.SIGTERM, _terminate)
    gc.set_threshold(_COLLECTION_THRESHOLD)
    code = run(sys.argv[1:] if argv is None else argv)
    # os._exit is faster than sys.exit, which frees each object separately. But the kubernetes client writes temporary
    # files with the keys of a kubeconfig, and deletes these files only at a regular exit of Python.
    if code == OK and "kubernetes" not in sys.modules:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(OK)
    sys.exit(code)


def run(argv: Sequence[str]) -> int:
    """Run a command line and return its exit code. Only ``--debug`` shows the traceback of an error."""
    if sys.stderr is None:
        # If sys.stderr is None, print(file=sys.stderr) writes to standard output.
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        print_message("tfgen: error: standard output is closed")
        return FAILED
    accept_any_text()
    if not argv:
        print_message(parsers(()).root.format_help(), end="")
        return USAGE
    is_debug = False
    try:
        args = _read_arguments(argv)
        is_debug = args.debug
        if args.watched and args.watch:
            from tfgen.cli.watch import watch  # takes 100 ms, which only --watch needs

            return watch(args, args.watched, partial(_run_once, args, argv))
        code = _run_command(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output, such as `head`, has exited early. This is no error.
        discard_output()
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except _Terminated:
        return TERMINATED
    except Exception as error:
        if is_debug:
            raise
        return _print_error(error, argv)
    return code


def _run_once(args: Namespace, argv: Sequence[str]) -> int:
    """Run a command and return its exit code. Print its error, except for an error that concerns every later run."""
    try:
        code = _run_command(args)
        sys.stdout.flush()
    except Exception as error:
        if args.debug or (isinstance(error, OSError) and error.filename is None):  # standard output is closed
            raise
        return _print_error(error, argv)
    return code


def _run_command(args: Namespace) -> int:
    """Run a command and return its exit code. If problems of the input stop the command, print the problems."""
    command: Callable[[Namespace], int] = args.run
    try:
        Path.cwd()  # relative paths start there
    except OSError as error:
        raise TfgenError(f"the working directory no longer exists: {error.strerror}") from error
    try:
        with shared_readers():
            return command(args)
    except ProblemsError as error:
        report(args, error.problems)
        if message := str(error):
            print_message(message)
        return PROBLEMS


def _print_error(error: Exception, argv: Sequence[str]) -> int:
    """Print the message of an error without a traceback, and return the exit code."""
    match error:
        case TfgenError():
            words = argv[: argv.index("--")] if "--" in argv else argv
            if "--format=json" in words or ("--format", "json") in pairwise(words):
                print_json({"error": {"message": str(error), "exitCode": error.exit_code}})
            print_message(f"tfgen: error: {error}")
            return error.exit_code
        case OSError():
            if error.filename is None:
                discard_output()
            print_message(f"tfgen: error: {printable(str(error.filename or 'standard output'))}: {error.strerror}")
        case _:
            name = type(error).__name__
            print_message(f"tfgen: internal error: {name}: {error}\nTo see the traceback, add --debug.")
    return FAILED


def _read_arguments(argv: Sequence[str]) -> Namespace:
    """Parse the command line. After the text of --help, flush standard output, so that `run` reports a failed write."""
    try:
        return read_arguments(argv)
    except SystemExit:
        sys.stdout.flush()
        raise


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _Terminated
