"""The path in a job that sets a field of an entry of `objects`."""

from __future__ import annotations

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.text.document import Document


def literal_path(document: Document, environment: str | None, path: Path) -> Path:
    """Return the full path of a field, below the environment or the job that sets the field or its nearest parent.

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
