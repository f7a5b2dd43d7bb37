"""A job's own file: where it is, and what goes with it when it is removed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tfgen import data_path
from tfgen.commands.init import SCHEMA_FILE
from tfgen.errors import UsageError
from tfgen.git import read as git
from tfgen.job.output_root import root_above
from tfgen.job.sources import read_sources
from tfgen.problems import Problem
from tfgen.real_path import real_path
from tfgen.schema import file as schema_file
from tfgen.text.document import Document, decode, parse
from tfgen.tree.ledger import LEDGER_FOLDER


def job_in(path: Path, *, force: bool) -> str:
    """The name of the one job in a file that may be removed.

    Raises:
        UsageError: the file holds another number of jobs, or git could not give it back and it is not `force`.
    """
    content = path.read_bytes()
    names = _names(content, str(path))
    if len(names) != 1 or not names[0]:
        raise UsageError(f"{path}: holds {len(names)} documents, not one job; take the job out, then tfgen rm NAME")
    if not force and not _is_same_text(git.committed(path), content):
        raise UsageError(f"{path}: git does not have it as it is; commit it first, or lose it by --force")
    return names[0]


def files_of(job: str, out: Path) -> list[Path]:
    """The files, in the repository around an output folder, that have a job of this name."""
    out = real_path(out)
    around = [folder for folder in (out, *out.parents) if (folder / ".git").exists()]
    if (out / LEDGER_FOLDER).is_dir():
        around.append(out)
    if not around:  # no repository: it may be anybody's home
        return []
    return [
        Path(source.file)
        for source in read_sources(around[:1], may_be_none=True)
        if isinstance(source.content, bytes) and job.encode() in source.content
        if job in _names(source.content, source.file)
    ]


def remove_file(path: Path) -> list[Path]:
    """Remove a job's file, the schema that `tfgen init` put beside it, and the folders that are then empty.

    The schema stays where there is anything else beside it, or where it is not as tfgen or git has it.
    """
    path.unlink()
    removed, folder = [path], path.parent
    schema = folder / SCHEMA_FILE
    if [*folder.iterdir()] == [schema] and schema.is_file():
        content = schema.read_bytes()
        if content in (schema_file.text().encode(), git.committed(schema)):
            schema.unlink()
            removed.append(schema)
    for empty in _up_to_root(real_path(folder)):
        if any(empty.iterdir()):
            break
        empty.rmdir()
    return removed


def _up_to_root(folder: Path) -> Iterator[Path]:
    """A folder and those above it, below the root and the working directory."""
    root, here = root_above(folder), Path.cwd()
    for candidate in (folder, *folder.parents):
        if candidate == root or here.is_relative_to(candidate):
            return
        yield candidate


def _is_same_text(committed: bytes | None, content: bytes) -> bool:
    """Whether git has a file, be it with other line ends, which git converts where it is told to."""
    return committed is not None and committed.replace(b"\r\n", b"\n") == content.replace(b"\r\n", b"\n")


def _names(content: bytes, file: str) -> list[str]:
    text = decode(content, file)
    documents: tuple[Document, ...] = () if isinstance(text, Problem) else parse(text, file).documents
    return [_name(document) for document in documents]


def _name(document: Document) -> str:
    name = data_path.at(document.data, ("metadata", "name"))
    return name if isinstance(name, str) else ""
