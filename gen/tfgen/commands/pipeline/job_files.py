"""The job files of a repository, by the names of the jobs in them."""

from __future__ import annotations

from pathlib import Path

from tfgen import data_path
from tfgen.job.sources import read_sources
from tfgen.real_path import real_path
from tfgen.text.document import Document
from tfgen.text.parse import parse
from tfgen.tree.ledger import LEDGER_FOLDER


def files_of(job: str, out: Path) -> list[str]:
    """The files in the repository around an output folder that have a job of this name, by their names from here."""
    out, here = real_path(out), Path.cwd()
    around = [folder for folder in (out, *out.parents) if (folder / ".git").exists()]
    if (out / LEDGER_FOLDER).is_dir():
        around.append(out)
    if not around:  # no repository: it may be anybody's home
        return []
    files = [
        Path(source.file)
        for source in read_sources(around[:1], may_be_none=True)
        if isinstance(text := source.text(), str) and job in text and job in _names(text, source.file)
    ]
    return [str(file.relative_to(here) if file.is_relative_to(here) else file) for file in files]


def _names(text: str, file: str) -> list[str]:
    return [_name(document) for document in parse(text, file).documents]


def _name(document: Document) -> str:
    name = data_path.at(document.data, ("metadata", "name"))
    return name if isinstance(name, str) else ""
