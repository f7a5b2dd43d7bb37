"""The record that describes a command of tfgen: its summary, its arguments, and the function that runs the command.

    COMMAND: Final = Command("print the JSON Schema of job.yaml", _arguments, _run, "tfgen schema > job.schema.json")

``tfgen --help`` imports the modules of all commands. To keep the help text fast, a command imports the modules for its
work inside its functions.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Final

from tfgen.record import Record

OK: Final = 0
PROBLEMS: Final = 1  # the input has errors, or a write would delete an edit of the user
USAGE: Final = 2  # the command line is wrong, or names a file or an environment that does not exist
FAILED: Final = 3  # tfgen, the disk, or a tool that tfgen calls fails

Run = Callable[[Namespace], int]


class Command(Record):
    """A command of tfgen.

    Attributes:
        summary: the description of the command in ``tfgen --help``: lower case, no full stop.
        arguments: function that adds the arguments of the command to a parser. The parser already has ``--format`` and
            ``--debug``.
        run: function that runs the command with the parsed arguments, and returns the exit code.
        example: the example in the --help text of the command.
        formats: the allowed values of ``--format``; the first format is the default.
    """

    summary: str
    arguments: Callable[[ArgumentParser], None]
    run: Run
    example: str
    formats: tuple[str, ...] = ("text", "json")
