"""The data of a command: its name, its arguments, and the function that runs the command.

    COMMAND = Command("schema", "print the JSON Schema of job.yaml", _arguments, _run, "tfgen schema > job.schema.json")

``tfgen --help`` imports the modules of all commands. So that the help text appears at once, a command imports the
modules for its work within its functions.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Final

from tfgen.record import Record

OK: Final = 0
PROBLEMS: Final = 1  # the input has errors, or a write would lose an edit of the user
USAGE: Final = 2  # the command line is wrong, or names a file or an environment that does not exist
FAILED: Final = 3  # tfgen, the disk, or a tool that tfgen calls fails

Run = Callable[[Namespace], int]


class Command(Record):
    """A command of tfgen.

    Attributes:
        name: the name of the command.
        summary: the line of ``tfgen --help`` about the command: lower case, no full stop.
        arguments: adds the arguments of the command to a parser, which has ``--format`` and ``--debug`` already.
        run: runs the command, and returns its exit code.
        example: the command line that the --help of the command shows.
        formats: the formats of the results; the first is the default.
    """

    name: str
    summary: str
    arguments: Callable[[ArgumentParser], None]
    run: Run
    example: str
    formats: tuple[str, ...] = ("text", "json")
