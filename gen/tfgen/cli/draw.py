"""``tfgen draw``: draw a picture of a job as SVG or Mermaid."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, Command
from tfgen.cli.live import run_arguments
from tfgen.cli.output import print_json, read_job

_SUMMARY: Final = "draw a picture of a job: tasks, gang, volumes, network and delivery"
_EXAMPLE: Final = "tfgen draw job.yaml --env prod > job.svg"
_FORMATS: Final = ("svg", "mermaid", "json")


def _arguments(parser: ArgumentParser) -> None:
    run_arguments(parser)


def _run(args: Namespace) -> int:
    from tfgen.pictures.describe import describe
    from tfgen.pictures.mermaid import as_mermaid
    from tfgen.pictures.picture import as_data
    from tfgen.pictures.svg import as_svg

    document = read_job(args)
    picture = describe(document, args.env)
    if args.format == "json":
        print_json(as_data(picture))
    else:
        print(as_svg(picture) if args.format == "svg" else as_mermaid(picture), end="")
    return OK


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE, _FORMATS)
