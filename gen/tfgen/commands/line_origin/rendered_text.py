"""Read a rendered file from disk, and find the job from which the file was rendered."""

from __future__ import annotations

import os
from pathlib import Path

from tfgen.errors import TfgenError, UsageError
from tfgen.job.output_root import root_above
from tfgen.places import CHARTS, OVERLAYS, job_folder
from tfgen.real_path import real_path
from tfgen.record import Record
from tfgen.tree.folder import OutputFolder
from tfgen.tree.ledger import Ledger, Ledgers


class RenderedText(Record):
    """A file that tfgen rendered.

    Attributes:
        path: the path below the output folder.
        text: the text.
        job: the name of the job; the first job if several jobs share the file.
        source: the job file.
        ledger: the ledger of the job.
    """

    path: str
    text: str
    job: str
    source: Path
    ledger: Ledger


def read_rendered(file: Path) -> RenderedText:
    """Read a file that tfgen rendered.

    Raises:
        UsageError: the file does not exist, or no ledger lists the file.
        TfgenError: the job file does not exist.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    whole = real_path(file)
    for out in whole.parents:
        path = whole.relative_to(out).as_posix()
        if path.partition("/")[0] in (CHARTS, OVERLAYS) and (rendered := _read(out, path)):
            return rendered
    raise UsageError(
        f"{file}: tfgen did not render this file; tfgen explain FILE:LINE needs a file below {CHARTS}/ or "
        f"{OVERLAYS}/ that a ledger in .tfgen/ lists"
    )


def _read(out: Path, path: str) -> RenderedText | None:
    """Read the file at a path below an output folder; None if no ledger in the folder lists the file."""
    with OutputFolder(out) as folder:
        ledgers = Ledgers(folder)
        folder_of_job = job_folder(path)
        jobs = [folder_of_job.partition("/")[2]] if folder_of_job else ledgers.owners(path)
        job = next((job for job in jobs if job in ledgers and path in ledgers[job].files), None)
        if job is None:
            return None
        text = folder.read_text(path).replace("\r\n", "\n")
    return RenderedText(path, text, job, _source(out, job, ledgers[job]), ledgers[job])


def _source(out: Path, job: str, ledger: Ledger) -> Path:
    source = (root_above(out) or out) / ledger.source
    if not ledger.source or not source.is_file():
        raise TfgenError(
            f"{ledger.source or f'the file of the job {job}'}: the job file does not exist, so tfgen cannot explain "
            "the line; restore the file, or render the job from its current file"
        )
    shown = os.path.relpath(source)
    return source if shown.startswith("..") else Path(shown)
