"""``tfgen draw``: draw a picture of a job as SVG or Mermaid."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.arguments import run_arguments
from tfgen.cli.output import OK, print_json, read_job
from tfgen.pictures.describe import describe
from tfgen.pictures.picture import as_data, as_mermaid, as_svg

EXAMPLE: Final = "tfgen draw job.yaml --env prod > job.svg"
FORMATS: Final = ("svg", "mermaid", "json")


def arguments(parser: ArgumentParser) -> None:
    run_arguments(parser)


def run(args: Namespace) -> int:
    document = read_job(args)
    picture = describe(document, args.env)
    if args.format == "json":
        print_json(as_data(picture))
    else:
        print(as_svg(picture) if args.format == "svg" else as_mermaid(picture), end="")
    return OK
