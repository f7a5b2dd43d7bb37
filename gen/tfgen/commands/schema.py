"""``tfgen schema``: print the JSON Schema of job.yaml or tfgen.yaml. The option --format has no effect."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.output import OK
from tfgen.schema import file as schema_file
from tfgen.schema.editor_schema import editor_schema

EXAMPLE: Final = "tfgen schema > job.schema.json"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--defaults", action="store_true", help="print the schema of tfgen.yaml")


def run(args: Namespace) -> int:
    print(editor_schema(schema_file.DEFAULTS if args.defaults else schema_file.NAME), end="")
    return OK
