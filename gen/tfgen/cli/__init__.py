"""The command line: the only package that prints or exits.

    tfgen render job.yaml

A command is a module here and a name in `COMMANDS`. Only the module of the command that runs is imported.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib
import keyword
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from tfgen import __version__
from tfgen.cli.command import FAILED, OK, PROBLEMS, USAGE, Command, Run
from tfgen.cli.output import drop_output, say, take_any_text
from tfgen.errors import TfgenError, UsageError

__all__ = ["COMMANDS", "FAILED", "OK", "PROBLEMS", "USAGE", "main", "run"]

COMMANDS: Final = (
    "init",
    "import",
    "set",
    "fmt",
    "render",
    "check",
    "diff",
    "commit",
    "rerun",
    "rm",
    "local",
    "plan",
    "apply",
    "delete",
    "status",
    "wait",
    "logs",
    "release",
    "explain",
    "schema",
)
"""In the order of ``tfgen --help``: that in which a job's author meets them."""


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
        say("tfgen: error: standard output is closed")
        return FAILED
    take_any_text()
    is_debug = False
    try:
        args = _parse(argv)
        is_debug = args.debug
        _check_working_directory()
        command: Run = args.run
        code = command(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone (| head): there is nobody left to tell.
        drop_output()
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except _Terminated:
        return TERMINATED
    except TfgenError as error:
        if is_debug:
            raise
        say(f"tfgen: error: {error}")
        return error.exit_code
    except OSError as error:
        if is_debug:
            raise
        drop_output()
        say(f"tfgen: error: {error.filename or 'standard output'}: {error.strerror}")
        return FAILED
    except Exception as error:
        if is_debug:
            raise
        say(f"tfgen: internal error: {type(error).__name__}: {error}\nRun it again with --debug for where.")
        return FAILED
    return code


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


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command line.

    Raises:
        UsageError: a command or an option is none; with the nearest one.
        SystemExit: whatever else argparse refuses, or --help.
    """
    from tfgen.words import meant, nearest  # only a mistake needs them

    name = argv[0] if argv else ""
    if name and not name.startswith("-") and name not in COMMANDS:
        known = ", ".join(COMMANDS)
        raise UsageError(f"no command {name!r}{meant(nearest(name, COMMANDS))} (commands: {known})")
    args, unknown = _parser(argv).parse_known_args(argv)
    if unknown:
        options = re.findall(r"--[a-z-]+", args.usage())
        hint = meant(nearest(unknown[0].partition("=")[0], options)) if unknown[0].startswith("-") else ""
        raise UsageError(f"tfgen {args.command} takes no {' '.join(unknown)}{hint}")
    return args


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of a command line: with its command alone, where it names one, and else with all."""
    formatter = functools.partial(argparse.HelpFormatter, width=_columns() - 2)
    parser = argparse.ArgumentParser(
        prog="tfgen",
        formatter_class=formatter,
        description="Helm charts and kustomize overlays for distributed TensorFlow, from one job.yaml.",
        epilog="Exit codes: 0 fine, 1 problems found, 2 wrong usage, 3 an error of tfgen's own or of a tool.",
    )
    parser.add_argument("--version", action="version", version=f"tfgen {__version__}")
    common = argparse.ArgumentParser(add_help=False, formatter_class=formatter)
    common.add_argument("--debug", action="store_true", help="show where an error comes from")
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name in argv[:1] if argv and argv[0] in COMMANDS else COMMANDS:
        command: Command = importlib.import_module(f"tfgen.cli.{_module(name)}").COMMAND
        description = command.summary[0].upper() + command.summary[1:] + "."
        added = subparsers.add_parser(
            command.name, parents=[common], help=command.summary, description=description, formatter_class=formatter
        )
        added.set_defaults(run=command.run, command=command.name, usage=added.format_usage)
        added.add_argument("--format", choices=command.formats, default="text", help="how results are printed")
        command.arguments(added)
    return parser


def _module(name: str) -> str:
    """The module of a command: its name, and of a word of Python's own (import) that with an underscore."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _columns() -> int:
    """The width of the terminal. argparse would ask shutil, and so load two libraries of compression at each start."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
