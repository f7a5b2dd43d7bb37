"""The facts about a line that a renderer of the file knows, before the keys are looked up in the job file."""

from __future__ import annotations

from tfgen.data_path import Path
from tfgen.record import Record

_NO_PATHS: frozenset[Path] = frozenset()


class LineFacts(Record):
    """The facts about a line.

    Attributes:
        reason: the purpose of the file, of the object or of the named template around the line.
        page: the page of the documentation.
        comment: the reason in the graph for this line alone; empty for most lines.
        sources: the keys of the job that set the values on the line.
        tests: the keys that decide whether the file has the line.
        environment: the environment whose values the file has; None for the job's own.
    """

    reason: str
    page: str
    comment: str = ""
    sources: frozenset[Path] = _NO_PATHS
    tests: frozenset[Path] = _NO_PATHS
    environment: str | None = None
