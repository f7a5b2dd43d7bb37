"""``tfgen fmt``: rewrite job files in the layout of `tfgen init`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command
from tfgen.cli.output import jobs_argument, print_message, print_result, report
from tfgen.words import count

_SUMMARY: Final = "format job files, and keep their values and comments"
_EXAMPLE: Final = "tfgen fmt jobs --check"


def _arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser)
    parser.add_argument(
        "--check", action="store_true", help="write nothing, and exit with code 1 if a file would change"
    )


def _run(args: Namespace) -> int:
    from tfgen.commands.fmt import format_file
    from tfgen.disk_file import read_text, replace_text
    from tfgen.job.sources import read_sources
    from tfgen.words import printable

    sources = read_sources(args.jobs)
    texts = {source.file: read_text(Path(source.file)) for source in sources}
    formatted = {source.file: format_file(source, texts[source.file]) for source in sources}
    problems = [problem for result in formatted.values() for problem in result.problems]
    changed = [file for file, result in formatted.items() if result.text != texts[file]]
    if not args.check and not problems:
        for file in changed:
            replace_text(Path(file), texts[file], formatted[file].text)
    report(args, problems, written={"changed": changed if args.check or not problems else []})
    if problems:
        return PROBLEMS
    if args.format == "text":
        for file in changed:
            print_result(f"{'would change' if args.check else 'changed'}  {printable(file)}")
        print_message(f"{count(len(sources), 'file')}, {len(changed)} {'to be changed' if args.check else 'changed'}")
    return PROBLEMS if args.check and changed else OK


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
