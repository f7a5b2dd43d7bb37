"""The parsers of the command line: one for tfgen, and within it one a command.

    read_arguments(["render", "job.yaml"])  ->  Namespace(run=..., jobs=[Path("job.yaml")], ...)

A command is a module of this room and a name in `COMMANDS`. Only the module of the command that runs is imported.
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
    "tensorboard",
    "release",
    "explain",
    "schema",
    "completion",
    "lsp",
    "merge-driver",
)
"""In the order of ``tfgen --help``: that in which a job's author meets them."""


class Parsers(NamedTuple):
    """The parser of tfgen, and those of its commands, by name."""

    root: ArgumentParser
    commands: Mapping[str, ArgumentParser]


_CHOICE: Final = re.compile(r"argument (?P<names>\S+): invalid choice: '(?P<value>[^']*)'")


class _Parser(ArgumentParser):
    """A parser whose errors are errors of tfgen, with the nearest choice."""

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print a help text or the version; argparse would drop the error of a full disk."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Refuse the command line.

        Raises:
            UsageError: always.
        """
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
    """The arguments of a command line.

    Raises:
        UsageError: argparse refuses the command line; the message has the nearest command, option or choice.
        SystemExit: the command line asks for help or for the version.
    """
    name = argv[0] if argv else ""
    if name and not name.startswith("-") and name not in COMMANDS:
        known = ", ".join(COMMANDS)
        raise UsageError(f"no command {name!r}{_meant(name, COMMANDS)} (commands: {known})")
    root, commands = parsers([name] if name in COMMANDS else COMMANDS)
    asked = commands.get(name, root)
    # argparse names what is missing first, be it only for an option that is misspelt.
    if unknown := _unknown_option(asked, argv):
        raise UsageError(f"{asked.prog} takes no {unknown}{_meant(unknown.partition('=')[0], options(asked))}")
    args, words = root.parse_known_args(argv)
    if words:
        raise UsageError(f"{asked.prog} takes no {' '.join(words)}")
    return args


def parsers(names: Iterable[str]) -> Parsers:
    """The parsers of tfgen and of some of its commands."""
    width = (columns() or 80) - 2
    formatter = functools.partial(HelpFormatter, width=width)
    with_example = functools.partial(RawDescriptionHelpFormatter, width=width)
    root = _Parser(
        prog="tfgen",
        formatter_class=formatter,
        description="Helm charts and kustomize overlays for distributed TensorFlow, from one job.yaml.",
        epilog="Exit codes: 0 fine, 1 problems found, 2 wrong usage, 3 an error of tfgen's own or of a tool.",
    )
    root.add_argument("--version", action="version", version=f"tfgen {__version__}", help="print tfgen's version")
    common = _Parser(add_help=False, formatter_class=formatter)
    common.add_argument("--debug", action="store_true", help="show where an error comes from")
    subparsers = root.add_subparsers(title="commands", required=True, metavar="COMMAND")
    commands = {}
    for name in names:
        command = command_of(name)
        parser = subparsers.add_parser(
            command.name,
            parents=[common],
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog=f"example:\n  {command.example}",
            formatter_class=with_example,
        )
        parser.set_defaults(run=command.run)
        parser.add_argument(
            "--format", choices=command.formats, default=command.formats[0], help="how results are printed"
        )
        command.arguments(parser)
        commands[name] = parser
    return Parsers(root, commands)


def command_of(name: str) -> Command:
    """A command by its name. Its module has that name; for a word of Python's own (import), with an underscore."""
    module = f"{name}_" if keyword.iskeyword(name) else name.replace("-", "_")
    command: Command = importlib.import_module(f"tfgen.cli.{module}").COMMAND
    return command


def options(parser: ArgumentParser) -> Mapping[str, Action]:
    """The options of a parser, by each way to write them, in the order of its help."""
    return {text: action for action in parser._actions for text in action.option_strings}


def positionals(parser: ArgumentParser) -> Sequence[Action]:
    """The arguments of a parser that stand by their place, in order."""
    return [action for action in parser._actions if not action.option_strings]


def _unknown_option(parser: ArgumentParser, words: Iterable[str]) -> str | None:
    """The first word that looks like a long option and begins none, as argparse takes options."""
    for word in takewhile(lambda word: word != "--", words):
        name = word.partition("=")[0]
        if name.startswith("--") and " " not in name and not any(text.startswith(name) for text in options(parser)):
            return word
    return None


def _meant(name: str, known: Iterable[str]) -> str:
    from tfgen.words import meant, nearest  # only a mistake needs them

    return meant(nearest(name, known))
