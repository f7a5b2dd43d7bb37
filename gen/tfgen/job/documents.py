"""Read job files as documents, and merge each job with its defaults."""

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
"""Maximum number of cached job files. A command reads the committed and the current version of one file at a time."""
_LAYERS: Final = 8
"""Maximum number of cached tfgen.yaml files. The cached job files inherit defaults from these files."""


class JobPlace(Record):
    """The position of a job in a valid job file. The job is not in memory; `read` reads the file again.

    Attributes:
        source: the job file.
        at: the index of the job's YAML document in the file. The first document has the index 0.
        name: the name of the job.
    """

    source: Source
    at: int
    name: str

    def read(self) -> Document:
        """Return the document of the job, merged with its defaults. Raises the errors of `Source.read`."""
        return read_documents(self.source)[self.at]


def parse_source(source: Source) -> Parsed:
    """Parse a job file or a tfgen.yaml. Return its documents without inherited defaults, and its problems."""
    text = source.text()
    return Parsed((), (text,)) if isinstance(text, Problem) else parse(text, source.file)


@lru_cache(maxsize=_FEW)
def read_documents(source: Source) -> tuple[Document, ...]:
    """Return the jobs of a file, merged with their defaults. The file and its defaults must be valid."""
    documents = parse_source(source).documents
    layer = _defaults(source.defaults)
    return documents if layer is None else tuple(defaults.merge_job(document, layer) for document in documents)


@lru_cache(maxsize=_LAYERS)
def _defaults(source: Source | None) -> Document | None:
    return (
        None if source is None else defaults.merge_layer(parse_source(source).documents[0], _defaults(source.defaults))
    )
