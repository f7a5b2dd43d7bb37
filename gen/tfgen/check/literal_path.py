"""Search for the path in a job file that sets a field of an `objects` entry."""

from __future__ import annotations

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.text.document import Document


def literal_path(document: Document, environment: str | None, path: Path) -> Path:
    """Return the complete path of a field of an `objects` entry.

    If the environment sets the field, the path is in the environment. If only the job sets the field, the path is in
    the job. If neither sets the field, the function looks for the parent key of the field in the same way.

    Args:
        document: the job.
        environment: the name of an environment, or None for the job itself.
        path: the path below `spec`, such as ("objects", "quota", "spec", "hard").
    """
    bases: list[Path] = [("spec", "environments", environment), ("spec",)] if environment is not None else [("spec",)]
    depths = range(len(path), 0, -1)
    return next(
        (*base, *path) for depth in depths for base in bases if data_path.has(document.data, (*base, *path[:depth]))
    )
