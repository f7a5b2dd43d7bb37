"""Choose one job of a file that contains several jobs."""

from __future__ import annotations

from collections.abc import Sequence

from tfgen import data_path
from tfgen.errors import UsageError
from tfgen.text.document import Document
from tfgen.words import either, meant, nearest, shown

_NAME = ("metadata", "name")


def choose_job(documents: Sequence[Document], file: str, name: str | None) -> Document:
    """Return the job with a name. Without a name, return the only job of the file.

    Args:
        documents: the documents of the file.
        file: the name of the file, for messages.
        name: the value of the option `--job`, or None.

    Raises:
        UsageError: the file has no job with this name, or the file has several jobs and `name` is None.
    """
    names = [str(data_path.at(document.data, _NAME)) for document in documents]
    if name is None:
        if len(documents) == 1:
            return documents[0]
        jobs = f": {either(names, 'and')}; choose a job with --job NAME" if names else ""
        raise UsageError(f"{file}: found {len(documents)} jobs{jobs}")
    if name not in names:
        hint = meant(nearest(name, names)) or f"; the jobs are {either(names, 'and')}" if names else ""
        raise UsageError(f"{file}: found no job {shown(name)}{hint}")
    return documents[names.index(name)]
