"""``tfgen fmt``: rewrite job files in the layout of `tfgen init`, with the same values and comments."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

from tfgen.errors import Problem, ProblemsError, UsageError, has_errors
from tfgen.job.sources import Source
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema.file import key_order
from tfgen.text.document import Document
from tfgen.text.layout import KeyOrder, lay_out
from tfgen.text.parse import parse

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
