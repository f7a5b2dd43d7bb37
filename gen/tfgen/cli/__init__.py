"""The command line: the only package that prints or exits.

    tfgen render job.yaml

A command is a module here, and a line in the table of `parser`.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from tfgen.cli.command import FAILED, OK, PROBLEMS, USAGE, Run
from tfgen.cli.output import accept_any_text, discard_output, print_json, print_message
from tfgen.cli.parser import COMMANDS, read_arguments
from tfgen.errors import TfgenError

__all__ = ["COMMANDS", "FAILED", "OK", "PROBLEMS", "USAGE", "main", "run"]

INTERRUPTED: Final = 130
TERMINATED: Final = 143
"""As shells have it: 128 and the signal's number."""

_GARBAGE: Final = 100_000
"""New objects between two searches for cycles, of which a job makes hardly any; Python's own 700 is for long runs."""


class _Terminated(BaseException):
    """SIGTERM, which is to be cleaned up after as Ctrl-C is."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run a command line and exit with its code."""
    signal.signal(signal.SIGTERM, _terminate)
    gc.set_threshold(_GARBAGE)
    code = run(sys.argv[1:] if argv is None else argv)
    # Nothing is left to be cleaned up, and sys.exit would only free each object by itself. The kubernetes client alone
    # keeps the keys of a kubeconfig in files, which it removes at the end.
    if code == OK and "kubernetes" not in sys.modules:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(OK)
    sys.exit(code)


def run(argv: Sequence[str]) -> int:
    """Run a command line and give its exit code; never a traceback, but with ``--debug``."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - print would take stdout instead
    if sys.stdout is None:
        print_message("tfgen: error: standard output is closed")
        return FAILED
    accept_any_text()
    is_debug = False
    try:
        args = _read_arguments(argv)
        is_debug = args.debug
        _check_working_directory()
        command: Run = args.run
        code = command(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone (| head): there is nobody left to tell.
        discard_output()
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except _Terminated:
        return TERMINATED
    except TfgenError as error:
        if is_debug:
            raise
        if _wants_json(argv):
            print_json({"error": {"message": str(error), "exitCode": error.exit_code}})
        print_message(f"tfgen: error: {error}")
        return error.exit_code
    except OSError as error:
        if is_debug:
            raise
        discard_output()
        print_message(f"tfgen: error: {error.filename or 'standard output'}: {error.strerror}")
        return FAILED
    except Exception as error:
        if is_debug:
            raise
        print_message(f"tfgen: internal error: {type(error).__name__}: {error}\nRun it again with --debug for where.")
        return FAILED
    return code


def _read_arguments(argv: Sequence[str]) -> Namespace:
    """The arguments; see that a help text has reached standard output before argparse exits."""
    try:
        return read_arguments(argv)
    except SystemExit:
        sys.stdout.flush()
        raise


def _wants_json(argv: Sequence[str]) -> bool:
    """Look for `--format json` among words that argparse may have refused."""
    words = argv[: argv.index("--")] if "--" in argv else argv
    return "--format=json" in words or ("--format", "json") in pairwise(words)


def _check_working_directory() -> None:
    """Without one no path leads anywhere, not even one that begins with "..": each would be the wrong one to name.

    Raises:
        TfgenError: there is none any more.
    """
    try:
        Path.cwd()
    except OSError as error:
        raise TfgenError(f"the working directory is not there any more: {error.strerror}") from error


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _Terminated
