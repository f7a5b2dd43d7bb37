"""Files of jobs as documents, merged over their defaults."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from tfgen.job import defaults
from tfgen.job.sources import Source
from tfgen.problems import Problem
from tfgen.record import Record
from tfgen.text.document import Document, Parsed
from tfgen.text.parse import parse

_FEW: Final = 2
"""Number of cached files: the committed and the present state of one file, since a command reads its jobs in a row."""
_LAYERS: Final = 8
"""Number of cached layers: the layers of the cached files."""


class JobPlace(Record):
    """A job in a file without errors. Each access reads the file again.

    Attributes:
        source: the file.
        at: the index of the job's document, from 0.
        name: the name of the job.
    """

    source: Source
    at: int
    name: str

    def read(self) -> Document:
        """Return the job. Raises the errors of `Source.read`."""
        return read_documents(self.source)[self.at]


def parse_source(source: Source) -> Parsed:
    """Return the documents of a file without their defaults."""
    text = source.text()
    return Parsed((), (text,)) if isinstance(text, Problem) else parse(text, source.file)


@lru_cache(maxsize=_FEW)
def read_documents(source: Source) -> tuple[Document, ...]:
    """Return the jobs of a file. The file and its layers must be without errors."""
    documents = parse_source(source).documents
    layer = _defaults(source.defaults)
    return documents if layer is None else tuple(defaults.under(document, layer) for document in documents)


@lru_cache(maxsize=_LAYERS)
def _defaults(source: Source | None) -> Document | None:
    return None if source is None else defaults.over(parse_source(source).documents[0], _defaults(source.defaults))
