"""Files of jobs as documents, over the defaults under them."""

from __future__ import annotations

from tfgen.job import defaults
from tfgen.job.sources import Source
from tfgen.problems import Problem
from tfgen.text.document import Document, Parsed, parse


def parse_source(source: Source) -> Parsed:
    """The documents of a file, without what is under it."""
    text = source.text()
    return Parsed((), (text,)) if isinstance(text, Problem) else parse(text, source.file)


def read_documents(source: Source) -> tuple[Document, ...]:
    """The jobs of a file that is known to be without errors, as are the defaults under it."""
    documents = parse_source(source).documents
    layer = _defaults(source.defaults)
    return documents if layer is None else tuple(defaults.under(document, layer) for document in documents)


def _defaults(source: Source | None) -> Document | None:
    return None if source is None else defaults.over(parse_source(source).documents[0], _defaults(source.defaults))
