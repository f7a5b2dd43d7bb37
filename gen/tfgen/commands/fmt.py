"""``tfgen fmt``: rewrite job files in the layout of `tfgen init`."""

from __future__ import annotations

import functools
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tfgen.cli.arguments import flag, jobs_argument
from tfgen.cli.output import OK, PROBLEMS, print_message, print_result, report
from tfgen.disk_file import read_text, replace_text
from tfgen.errors import Problem, ProblemsError, UsageError, has_errors
from tfgen.job.sources import Source, read_sources
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema.file import key_order
from tfgen.text.document import Document
from tfgen.text.layout import KeyOrder, lay_out
from tfgen.text.parse import parse
from tfgen.words import count, printable

EXAMPLE: Final = "tfgen fmt jobs --check"


def arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser)
    flag(parser, "--check", "write nothing, and exit with code 1 if a file would change")


def run(args: Namespace) -> int:
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


_SCHEMAS: Final[Mapping[str, str]] = {"TrainingJob": schema_file.NAME, "Defaults": schema_file.DEFAULTS}
"""The schema of each kind of tfgen document."""


class Formatted(Record):
    """The result of `tfgen fmt` for a file. If the file has problems, the text is unchanged.

    A problem is a YAML error, or the place of a value or a comment that the new layout would lose.
    """

    text: str
    problems: tuple[Problem, ...]


def format_file(source: Source, text: str) -> Formatted:
    """Format the tfgen documents in a file in the layout of `tfgen init`.

    Args:
        source: the file.
        text: the text of the file from `disk_file.read_text`.

    Raises:
        UsageError: the file has no tfgen document.
    """
    content = source.text()
    if isinstance(content, Problem):
        return Formatted(text, (content,))
    parsed = parse(content, source.file)
    if has_errors(parsed.problems):
        return Formatted(text, parsed.problems)
    if all(_order(document) is None for document in parsed.documents):
        raise UsageError(f"{source.file}: the file has no document with an apiVersion tfgen/...")
    try:
        return Formatted(lay_out(text, source.file, _order), ())
    except ProblemsError as error:
        return Formatted(text, error.problems)


def _order(document: Document) -> KeyOrder | None:
    """Return the key order for a document; None for a document without an apiVersion of tfgen."""
    data = document.data
    if not isinstance(data, Mapping) or not str(data.get("apiVersion")).startswith("tfgen/"):
        return None
    return functools.partial(key_order, schema=_SCHEMAS.get(str(data.get("kind")), schema_file.NAME))
