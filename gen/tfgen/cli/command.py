"""A command, as data: its name, its arguments, and the function from them to an exit code.

    COMMAND = Command("schema", "print the JSON Schema of job.yaml", _arguments, _run, "tfgen schema > job.schema.json")

``tfgen --help`` imports the modules of all commands, so each imports what its work needs within its functions: help is
to start as fast as Python does.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Final

from tfgen.record import Record

OK: Final = 0
PROBLEMS: Final = 1  # the input has errors, or writing would lose something of the user's
USAGE: Final = 2  # the command line asks for what is not there
FAILED: Final = 3  # an error of tfgen's own, of the disk, or of a tool that it calls

Run = Callable[[Namespace], int]


class Command(Record):
    """One of tfgen's commands.

    Attributes:
        summary: what it does, as ``tfgen --help`` says it: lower case, no full stop.
        arguments: adds its own to a parser; ``--format`` and ``--debug`` are there already.
        run: does it, and gives an exit code.
        example: a line for a shell, as its --help shows it.
        formats: how it can print its results; the first is the default.
    """

    name: str
    summary: str
    arguments: Callable[[ArgumentParser], None]
    run: Run
    example: str
    formats: tuple[str, ...] = ("text", "json")
