"""Files of jobs as documents, over the defaults under them."""

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
"""Files that stay in memory: one as it was and as it is, since a file's jobs are asked for one after the other."""
_LAYERS: Final = 8
"""Defaults that do: those under such files."""


class JobPlace(Record):
    """A job in a file without errors, which is read again where it is asked for.

    Attributes:
        source: the file.
        at: which of its documents the job is, from 0.
        name: the job's.
    """

    source: Source
    at: int
    name: str

    def read(self) -> Document:
        """The job. Raises as `Source.read` does."""
        return read_documents(self.source)[self.at]


def parse_source(source: Source) -> Parsed:
    """The documents of a file, without what is under it."""
    text = source.text()
    return Parsed((), (text,)) if isinstance(text, Problem) else parse(text, source.file)


@lru_cache(maxsize=_FEW)
def read_documents(source: Source) -> tuple[Document, ...]:
    """The jobs of a file that is known to be without errors, as are the defaults under it."""
    documents = parse_source(source).documents
    layer = _defaults(source.defaults)
    return documents if layer is None else tuple(defaults.under(document, layer) for document in documents)


@lru_cache(maxsize=_LAYERS)
def _defaults(source: Source | None) -> Document | None:
    return None if source is None else defaults.over(parse_source(source).documents[0], _defaults(source.defaults))
