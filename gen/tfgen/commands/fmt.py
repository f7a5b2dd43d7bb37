"""``tfgen fmt``: job files in the layout of `tfgen init`, with every value and every comment kept."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

from tfgen.errors import UsageError
from tfgen.job.sources import Source
from tfgen.problems import Problem, has_errors
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema.key_order import key_order
from tfgen.text.document import Document
from tfgen.text.layout import KeyOrder, lay_out
from tfgen.text.parse import parse

_SCHEMAS: Final[Mapping[str, str]] = {"TrainingJob": schema_file.NAME, "Defaults": schema_file.DEFAULTS}
"""The schema of each kind of document that is tfgen's."""


class Formatted(Record):
    """The text of a file as it should be, and what YAML finds wrong with it, so that it stays as it is."""

    text: str
    problems: tuple[Problem, ...]


def format_file(source: Source, text: str) -> Formatted:
    """A file with its documents of tfgen's in the layout of `tfgen init`.

    Args:
        source: the file.
        text: its text, as `disk_file.read_text` gives it.

    Raises:
        UsageError: no document of it is tfgen's.
        TfgenError: it is so written that a value or a comment would be lost.
    """
    content = source.text()
    if isinstance(content, Problem):
        return Formatted(text, (content,))
    parsed = parse(content, source.file)
    if has_errors(parsed.problems):
        return Formatted(text, parsed.problems)
    if all(_order(document) is None for document in parsed.documents):
        raise UsageError(f"{source.file}: holds no document with apiVersion tfgen/...")
    return Formatted(lay_out(text, source.file, _order), ())


def _order(document: Document) -> KeyOrder | None:
    """The order of a document's keys; None for one that is not tfgen's."""
    data = document.data
    if not isinstance(data, Mapping) or not str(data.get("apiVersion")).startswith("tfgen/"):
        return None
    return functools.partial(key_order, schema=_SCHEMAS.get(str(data.get("kind")), schema_file.NAME))
