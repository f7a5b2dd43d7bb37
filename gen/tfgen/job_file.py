"""A job's own file, where it is to be removed."""

from __future__ import annotations

from pathlib import Path

from tfgen import git
from tfgen.document import Document, decode, parse
from tfgen.errors import UsageError
from tfgen.problems import Problem


def job_in(path: Path, *, force: bool) -> str:
    """The name of the one job in a file that may be removed.

    Raises:
        UsageError: the file holds another number of jobs, or git could not give it back and it is not `force`.
    """
    content = path.read_bytes()
    text = decode(content, str(path))
    documents: tuple[Document, ...] = () if isinstance(text, Problem) else parse(text, str(path)).documents
    names = [_name(document) for document in documents]
    if len(names) != 1 or not names[0]:
        raise UsageError(f"{path}: holds {len(documents)} documents, not one job; take the job out, then tfgen rm NAME")
    if not force and git.committed(path) != content:
        raise UsageError(f"{path}: git does not have it as it is; commit it first, or lose it by --force")
    return names[0]


def _name(document: Document) -> str:
    data = document.data
    metadata = data.get("metadata") if isinstance(data, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
