"""Parse the command line.

    read_arguments(["render", "job.yaml"])  # Namespace(run=..., jobs=[Path("job.yaml")], ...)

Each command is a module of the package `commands`, and a name in `GROUPS`. tfgen imports the module of the command on
the command line by its name, and no module of another command.
"""

from __future__ import annotations

import functools
import importlib
import keyword
import re
import sys
import textwrap
from argparse import SUPPRESS, Action, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from tfgen import __version__
from tfgen.cli.output import columns
from tfgen.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "write jobs": {
        "init": "write a commented job.yaml, or a whole repository",
        "import": "convert a TFJob or other manifests to a job.yaml",
        "set": "set values in a job file, and keep all other text",
        "fmt": "format job files, and keep their values and comments",
        "render": "write the charts and overlays of jobs",
        "check": "report the problems of jobs and of their rendered files",
        "explain": "explain a key, a rule, a value or a rendered line",
        "draw": "draw a picture of a job",
        "local": "run a job on this machine, with one process for each task",
    },
    "git": {
        "diff": "print the changes of each object of a job",
        "commit": "check, render and commit jobs with their rendered files",
        "rerun": "write the name of the next run into job.yaml",
        "rename": "rename a job in its file and in the rendered files",
        "rm": "remove a job from git, or retire the job in one environment",
        "merge-driver": "merge a rendered file when git merges two branches",
    },
    "cluster": {
        "plan": "print whether jobs fit on the nodes of a cluster",
        "apply": "apply the objects of a job, without a GitOps tool",
        "delete": "delete the objects of a job, except the claims",
        "status": "print the state of a run, and why the run waits",
        "wait": "wait until a run ends",
        "logs": "print the output of the tasks of a run",
        "exec": "run a command in the container of a task",
        "profile": "trace the training of tasks",
        "tensorboard": "forward a local port to the TensorBoard of a job",
        "release": "free the GPUs of a run, even if the run has not ended",
    },
    "tools": {
        "site": "write a static website about all jobs",
        "schema": "print the JSON Schema of job.yaml, or of tfgen.yaml",
        "completion": "print the script for completion in bash, zsh or fish",
        "lsp": "run a language server for job.yaml and tfgen.yaml",
    },
}
"""The summary of each command, by group and name, in the order of ``tfgen --help``."""

COMMANDS: Final[Mapping[str, str]] = {name: text for group in GROUPS.values() for name, text in group.items()}

WORDS: Final[Mapping[str, str]] = {
    "help": "print the help text of tfgen or of a command",
    "version": "print the version of tfgen",
}
"""Words that have the effect of an option in the place of a command: `tfgen help render`, `tfgen version`."""

HIDDEN: Final = "merge-driver"
"""The command that only git runs, and that ``tfgen --help`` does not list."""

_CODES: Final = (
    "The exit code is 0 for success, 1 for problems, 2 for wrong usage, and 3 for an error of "
    "tfgen, the disk or a tool."
)


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
        SystemExit: the command line asks for the help text or the version.
    """
    if argv and argv[0] == "help":
        argv = [*argv[1:2], "--help"]
    elif argv and argv[0] == "version":
        argv = ["--version"]
    name = argv[0] if argv else ""
    if name and not name.startswith("-") and name not in COMMANDS:
        hint = _meant(name, [*COMMANDS, *WORDS])
        raise UsageError(f"unknown command {name!r}{hint} (commands: {', '.join(COMMANDS)})")
    root, commands = parsers([name] if name in COMMANDS else ())
    parser = commands.get(name, root)
    # argparse would report a missing argument first, although the cause may be a misspelled option.
    if option := _unknown_option(parser, argv):
        word = option.partition("=")[0]
        instead = getattr(command_of(name), "INSTEAD", {}).get(word) if name in COMMANDS else None
        hint = f"; {instead}" if instead else _meant(word, options(parser))
        raise UsageError(f"{parser.prog}: unknown option {option}{hint}")
    args, words = root.parse_known_args(argv)
    if words:
        raise UsageError(f"{parser.prog}: unexpected argument {' '.join(words)}")
    return args


def parsers(names: Iterable[str]) -> Parsers:
    """Build the main parser of tfgen, and the parsers of the named commands. Only their modules are imported."""
    width = (columns() or 80) - 2
    formatter = functools.partial(RawDescriptionHelpFormatter, width=width)
    description = "Helm charts and kustomize overlays for distributed TensorFlow, from one job.yaml."
    for title, group in GROUPS.items():
        lines = (f"\n  {name:<12} {text}" for name, text in group.items() if name != HIDDEN)
        description += f"\n\n{title}:{''.join(lines)}"
    root = _Parser(
        prog="tfgen",
        usage="tfgen [-h] [--version] COMMAND ...",
        formatter_class=formatter,
        description=description,
        epilog=textwrap.fill(_CODES, width),
    )
    root.add_argument("--version", action="version", version=f"tfgen {__version__}", help=WORDS["version"])
    common = _Parser(add_help=False, formatter_class=formatter)
    common.add_argument("--debug", action="store_true", help="print the traceback of an error")
    subparsers = root.add_subparsers(prog="tfgen", required=True, metavar="COMMAND", help=SUPPRESS)
    commands = {}
    for name in names:
        command = command_of(name)
        sentence = (command.__doc__ or "").partition(": ")[2].partition("\n\n")[0].replace("\n", " ")
        parser = subparsers.add_parser(
            name,
            parents=[common],
            description=textwrap.fill(f"{sentence[:1].upper()}{sentence[1:]}", width),
            epilog=f"example:\n  {command.EXAMPLE}",
            formatter_class=formatter,
        )
        parser.set_defaults(run=command.run, watched=getattr(command, "WATCHED", None))
        formats = getattr(command, "FORMATS", ("text", "json"))
        parser.add_argument("--format", choices=formats, default=formats[0], help="the format of the results")
        command.arguments(parser)
        if hasattr(command, "WATCHED"):
            text = "run again after each change of a job file, a tfgen.yaml or a rendered file, until Ctrl-C"
            parser.add_argument("-w", "--watch", action="store_true", help=text)
        commands[name] = parser
    return Parsers(root, commands)


def command_of(name: str) -> ModuleType:
    """Import and return the module of a command. The module of `tfgen import` is named `import_`.

    The module has the functions `arguments`, which adds the arguments of the command to a parser, and `run`, which runs
    the command with the parsed arguments and returns the exit code. The parser already has --format and --debug. The
    constant `EXAMPLE` is the example in the help text. The constant `FORMATS` lists the values of --format, the default
    first; a command without `FORMATS` prints text or JSON. The mapping `INSTEAD` has the command lines to use
    instead of an option that the command does not have. A command with the constant `WATCHED` has the option --watch.
    """
    module = f"{name}_" if keyword.iskeyword(name) else name.replace("-", "_")
    return importlib.import_module(f"tfgen.commands.{module}")


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
