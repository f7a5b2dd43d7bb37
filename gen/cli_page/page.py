"""The page of the commands, from their parsers.

| `--env ENV` | with --stdout: the objects of this environment |
"""

from __future__ import annotations

import textwrap
from argparse import PARSER, Action, ArgumentParser
from collections.abc import Iterator

from tfgen.cli.parser import COMMANDS, command_of, parsers, positionals

_EVERYWHERE = ("--help", "--debug")
"""Options that the page says once."""

_HEAD = """\
# The command line

`make cli` writes this page from the commands' parsers; `tfgen COMMAND --help` prints the same.

{exit_codes}

Data goes to standard output, all else to standard error. With `--format json`, a command prints one JSON object.
`--debug` shows where an error comes from.

On a terminal, problems come with the lines that they are in, and long work counts what it has done. `COLUMNS` says the
width where the terminal does not, and `NO_COLOR` leaves out the colours: see <https://no-color.org>.

Shells complete commands, options, job files, environments and the keys of a job, once they have the script of
`tfgen completion`:

| Shell | Line for its start-up file |
|---|---|
| bash | `source <(tfgen completion bash)` in `~/.bashrc` |
| zsh | `source <(tfgen completion zsh)` in `~/.zshrc`, after `compinit` |
| fish | `tfgen completion fish \\| source` in `~/.config/fish/config.fish` |
"""


def page() -> str:
    """The whole page."""
    root, commands = parsers(COMMANDS)
    codes = textwrap.fill(root.epilog or "", 120)
    return "\n".join([_HEAD.format(exit_codes=codes), *(_section(name, commands[name]) for name in COMMANDS)])


def _section(name: str, parser: ArgumentParser) -> str:
    rows = "".join(f"| {_code(_written(action))} | {_cell(_help(action))} |\n" for action in _arguments(parser))
    return (
        f"## `tfgen {name}`\n\n{parser.description}\n\n"
        f"| Argument | |\n|---|---|\n{rows}\nExample: `{command_of(name).example}`\n"
    )


def _arguments(parser: ArgumentParser) -> Iterator[Action]:
    """Those that stand by their place, and the options of the command alone."""
    yield from positionals(parser)
    for action in parser._actions:
        if action.option_strings and not set(_EVERYWHERE) & {*action.option_strings}:
            yield action


def _written(action: Action) -> str:
    """The argument as it is written on a command line: `JOB...`, `--env ENV`, `-n, --namespace NAMESPACE`."""
    value = "|".join(action.choices) if action.choices and not action.metavar else action.metavar
    value = value or action.dest.upper()
    several = "..." if action.nargs in ("*", "+", PARSER) else ""
    if not action.option_strings:
        return f"[{value}{several}]" if action.nargs in ("?", "*", "...") else f"{value}{several}"
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}{several}"


def _help(action: Action) -> str:
    text = action.help or ""
    return f"{text} ({action.default})" if action.choices and action.default and action.default not in text else text


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    """Text of a table's cell, in which a bar would end it."""
    return text.replace("|", "\\|")
