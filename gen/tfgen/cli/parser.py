"""Parse the command line.

    read_arguments(["render", "job.yaml"])  # Namespace(run=..., jobs=[Path("job.yaml")], ...)

Each command is a module of this package, and a name in `COMMANDS`. Only the module of the current command is imported.
"""

from __future__ import annotations

import functools
import importlib
import keyword
import re
import sys
from argparse import Action, ArgumentParser, HelpFormatter, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from tfgen import __version__
from tfgen.cli.command import Command
from tfgen.cli.output import columns
from tfgen.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

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
    "rename",
    "rm",
    "local",
    "draw",
    "site",
    "plan",
    "apply",
    "delete",
    "status",
    "wait",
    "logs",
    "exec",
    "profile",
    "tensorboard",
    "release",
    "explain",
    "schema",
    "completion",
    "lsp",
    "merge-driver",
)
"""The names of the commands, in the order of ``tfgen --help``: commands for a new job first, and for a run last."""


class Parsers(NamedTuple):
    """The main parser of tfgen, and the parser of each command by the name of the command."""

    root: ArgumentParser
    commands: Mapping[str, ArgumentParser]


_CHOICE: Final = re.compile(r"argument (?P<names>\S+): invalid choice: '(?P<value>[^']*)'")


class _Parser(ArgumentParser):
    """An argparse parser that raises UsageError and does not exit. The error suggests the most similar choice."""

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print a help text or the version. Report a failed write, which argparse would ignore."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with the message from argparse and the most similar choice."""
        choice = _CHOICE.match(message)
        if choice:
            names = choice["names"].split("/")
            actions = (
                action for action in self._actions if action.metavar in names or {*names} & {*action.option_strings}
            )
            choices = [str(value) for action in actions for value in action.choices or ()]
            message += _meant(choice["value"], choices)
        raise UsageError(f"{self.prog}: {message}")


def read_arguments(argv: Sequence[str]) -> Namespace:
    """Parse the arguments of a command line.

    Raises:
        UsageError: the command line is invalid. The message suggests the most similar command, option or choice.
        SystemExit: the command line contains --help or --version.
    """
    name = argv[0] if argv else ""
    if name and not name.startswith("-") and name not in COMMANDS:
        raise UsageError(f"unknown command {name!r}{_meant(name, COMMANDS)} (commands: {', '.join(COMMANDS)})")
    root, commands = parsers([name] if name in COMMANDS else COMMANDS)
    parser = commands.get(name, root)
    # argparse would report a missing argument first, although the cause may be a misspelled option.
    if option := _unknown_option(parser, argv):
        raise UsageError(f"{parser.prog}: unknown option {option}{_meant(option.partition('=')[0], options(parser))}")
    args, words = root.parse_known_args(argv)
    if words:
        raise UsageError(f"{parser.prog}: unexpected argument {' '.join(words)}")
    return args


def parsers(names: Iterable[str]) -> Parsers:
    """Build the main parser of tfgen, and the parsers of the named commands."""
    width = (columns() or 80) - 2
    formatter = functools.partial(HelpFormatter, width=width)
    with_example = functools.partial(RawDescriptionHelpFormatter, width=width)
    root = _Parser(
        prog="tfgen",
        formatter_class=formatter,
        description="Helm charts and kustomize overlays for distributed TensorFlow, from one job.yaml.",
        epilog=(
            "The exit code is 0 for success, 1 for problems, 2 for wrong usage, and 3 for an error of "
            "tfgen, the disk or a tool."
        ),
    )
    root.add_argument("--version", action="version", version=f"tfgen {__version__}", help="print the version of tfgen")
    common = _Parser(add_help=False, formatter_class=formatter)
    common.add_argument("--debug", action="store_true", help="print the traceback of an error")
    subparsers = root.add_subparsers(title="commands", required=True, metavar="COMMAND")
    commands = {}
    for name in names:
        command = command_of(name)
        parser = subparsers.add_parser(
            name,
            parents=[common],
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog=f"example:\n  {command.example}",
            formatter_class=with_example,
        )
        parser.set_defaults(run=command.run)
        parser.add_argument(
            "--format", choices=command.formats, default=command.formats[0], help="the format of the results"
        )
        command.arguments(parser)
        commands[name] = parser
    return Parsers(root, commands)


def command_of(name: str) -> Command:
    """Import the module of a command and return the command. The module of `tfgen import` is named `import_`."""
    module = f"{name}_" if keyword.iskeyword(name) else name.replace("-", "_")
    command: Command = importlib.import_module(f"tfgen.cli.{module}").COMMAND
    return command


def options(parser: ArgumentParser) -> Mapping[str, Action]:
    """Return the options of a parser by option string, such as `-f` and `--follow`, in the order of the help text."""
    return {text: action for action in parser._actions for text in action.option_strings}


def positionals(parser: ArgumentParser) -> Sequence[Action]:
    """Return the positional arguments of a parser, in order."""
    return [action for action in parser._actions if not action.option_strings]


def _unknown_option(parser: ArgumentParser, words: Iterable[str]) -> str | None:
    """Return the first unknown long option, such as `--envs`, in `words`; None without an unknown long option.

    A prefix of a known option counts as known, as in argparse.
    """
    for word in takewhile(lambda word: word != "--", words):
        name = word.partition("=")[0]
        if name.startswith("--") and " " not in name and not any(text.startswith(name) for text in options(parser)):
            return word
    return None


def _meant(name: str, choices: Iterable[str]) -> str:
    from tfgen.words import meant, nearest  # imports difflib, which only a wrong command line needs

    return meant(nearest(name, choices))
