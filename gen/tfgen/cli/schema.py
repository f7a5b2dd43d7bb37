"""``tfgen schema``: print the JSON Schema of job.yaml or tfgen.yaml. The option --format has no effect."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, Command

_SUMMARY: Final = "print the JSON Schema of job.yaml, or of tfgen.yaml"
_EXAMPLE: Final = "tfgen schema > job.schema.json"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--defaults", action="store_true", help="print the schema of tfgen.yaml")


def _run(args: Namespace) -> int:
    from tfgen.schema import file as schema_file
    from tfgen.schema.editor_schema import editor_schema

    print(editor_schema(schema_file.DEFAULTS if args.defaults else schema_file.NAME), end="")
    return OK


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
