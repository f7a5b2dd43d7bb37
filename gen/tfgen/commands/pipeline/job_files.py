"""Find the job file of a job by the name of the job."""

from __future__ import annotations

from pathlib import Path

from tfgen import data_path
from tfgen.job.sources import read_sources
from tfgen.real_path import real_path
from tfgen.text.document import Document
from tfgen.text.parse import parse
from tfgen.tree.ledger import LEDGER_FOLDER


def find_job_files(job: str, out: Path) -> list[str]:
    """Return the paths of the files in the repository that contain a job with this name.

    A path below the working directory is relative. Any other path is absolute.
    """
    out, working_directory = real_path(out), Path.cwd()
    roots = [folder for folder in (out, *out.parents) if (folder / ".git").exists()]
    if (out / LEDGER_FOLDER).is_dir():
        roots.append(out)
    if not roots:  # outside a repository, the folder may be a home folder, which takes long to read
        return []
    files = [
        Path(source.file)
        for source in read_sources(roots[:1], may_be_none=True)
        if isinstance(text := source.text(), str) and job in text and job in _names(text, source.file)
    ]
    return [
        str(file.relative_to(working_directory) if file.is_relative_to(working_directory) else file) for file in files
    ]


def _names(text: str, file: str) -> list[str]:
    return [_name(document) for document in parse(text, file).documents]


def _name(document: Document) -> str:
    name = data_path.at(document.data, ("metadata", "name"))
    return name if isinstance(name, str) else ""
