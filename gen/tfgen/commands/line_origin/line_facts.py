"""The job keys, the reason and the documentation page for a line of a rendered file."""

from __future__ import annotations

from tfgen.data_path import Path
from tfgen.record import Record

_NO_PATHS: frozenset[Path] = frozenset()


class LineFacts(Record):
    """The job keys, the reason and the documentation page for a line of a rendered file.

    Attributes:
        reason: the purpose of the file, object or named template that contains the line.
        page: the page of the documentation.
        comment: the reason for this line only, from the object graph; empty for most lines.
        sources: the job keys that set the values on the line.
        tests: the job keys that decide whether the file contains the line.
        environment: the environment of the file; None for the job without an environment.
    """

    reason: str
    page: str
    comment: str = ""
    sources: frozenset[Path] = _NO_PATHS
    tests: frozenset[Path] = _NO_PATHS
    environment: str | None = None
