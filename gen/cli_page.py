"""Write docs/cli.md, the page of the commands, from the parsers: `make cli`.

Each argument is a row:

| `--env ENV` | with --stdout: the objects of this environment |
"""

from __future__ import annotations

import textwrap
from argparse import PARSER, Action, ArgumentParser
from collections.abc import Iterator
from pathlib import Path

from tfgen.cli.parser import COMMANDS, GROUPS, HIDDEN, command_of, parsers, positionals

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"

_EVERYWHERE = ("--help", "--debug")
"""Options of every command, which the page describes once."""

_HEAD = """\
# The command line

`make cli` writes this page from the help texts of the commands. On a terminal, `tfgen COMMAND --help` prints the same
text.

{exit_codes}

Data goes to standard output, and messages go to standard error. `--format json` prints a single JSON object, and
`--debug` prints the Python traceback of an error.

On a terminal, tfgen shows the progress of long work. Below each problem, tfgen prints the line of the file that causes
the problem. The variable `COLUMNS` sets the width of the output if tfgen cannot read the width of the terminal. The
variable `NO_COLOR` turns the colours off: see <https://no-color.org>.

`tfgen completion` prints a script with which a shell completes commands, options, job files, environments and the keys
of a job. To load the script, add a line to the start-up file of the shell:

| Shell | Line for its start-up file |
|---|---|
| bash | `source <(tfgen completion bash)` in `~/.bashrc` |
| zsh | `source <(tfgen completion zsh)` in `~/.zshrc`, after `compinit` |
| fish | `tfgen completion fish \\| source` in `~/.config/fish/config.fish` |
"""


def page() -> str:
    """Return the whole page."""
    root, commands = parsers(COMMANDS)
    codes = textwrap.fill(root.epilog or "", 120)
    sections = (_section(name, commands[name]) for name in COMMANDS)
    return "\n".join([_HEAD.format(exit_codes=codes), _table(), *sections])


def _table() -> str:
    """Return a table of the commands, with a link to the section of each command."""
    rows = "".join(
        f"| {title} | [`tfgen {name}`](#tfgen-{name}) | {text} |\n"
        for title, group in GROUPS.items()
        for name, text in group.items()
        if name != HIDDEN
    )
    return f"| Group | Command | Purpose |\n|---|---|---|\n{rows}"


def _section(name: str, parser: ArgumentParser) -> str:
    rows = "".join(f"| {_code(_written(action))} | {_cell(_help(action))} |\n" for action in _arguments(parser))
    return (
        f"## `tfgen {name}`\n\n{parser.description}\n\n"
        f"| Argument | |\n|---|---|\n{rows}\nExample: `{command_of(name).EXAMPLE}`\n"
    )


def _arguments(parser: ArgumentParser) -> Iterator[Action]:
    """Yield the positional arguments of a command, and its options except the options of every command."""
    yield from positionals(parser)
    for action in parser._actions:
        if action.option_strings and not set(_EVERYWHERE) & {*action.option_strings}:
            yield action


def _written(action: Action) -> str:
    """Return an argument in the notation of a command line: `JOB...`, `--env ENV`, `-n, --namespace NAMESPACE`."""
    value = "|".join(action.choices) if action.choices and not action.metavar else action.metavar
    value = value or action.dest.upper()
    several = "..." if action.nargs in ("*", "+", PARSER) else ""
    if not action.option_strings:
        return f"[{value}{several}]" if action.nargs in ("?", "*", "...") else f"{value}{several}"
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}{several}"


def _help(action: Action) -> str:
    text = action.help or ""
    return (
        f"{text} (default: {action.default})"
        if action.choices and action.default and action.default not in text
        else text
    )


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    """Return the text for a table cell, with escapes for bars."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
