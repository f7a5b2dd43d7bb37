"""``tfgen schema``: the JSON Schema of job.yaml, which is JSON in every format."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, Command


def _arguments(parser: ArgumentParser) -> None:
    del parser  # it has none


def _run(args: Namespace) -> int:
    from tfgen.schema import file as schema_file

    del args
    print(schema_file.text(), end="")
    return OK


COMMAND: Final = Command(
    "schema", "print the JSON Schema of job.yaml", _arguments, _run, example="tfgen schema > job.schema.json"
)
