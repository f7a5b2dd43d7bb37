"""Whether the files of a job are what `tfgen render` would write, and if not, why.

    compare_files(documents, plan)
        ->  FileComparison(problems=(Problem("overlays/mnist/...", ... "hand-edited"),), notes=())

The ledger tells the reasons apart:

- A file whose digest is not the ledger's was edited by hand. That is an error.
- A job whose digest is not the ledger's `input` was changed, and not rendered since. That is an error.
- A job that is as it was rendered stays as it is, though another tfgen or other defaults rendered it. A note says what
  the job's next change would change with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final

from tfgen.places import CHARTS, OVERLAYS
from tfgen.plural import count
from tfgen.problems import Position, Problem, in_order
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.tree.ledger import ledger_path
from tfgen.tree.output_folder import OutputFolder
from tfgen.tree.plan import FileAction, FileChange, JobPlan, WritePlan
from tfgen.words import shown

HAND_EDITED: Final = "hand-edited"
NOT_RENDERED: Final = "not-rendered"

RULES: Final[Mapping[str, str]] = {
    HAND_EDITED: "A file that tfgen wrote is not as it was written.",
    NOT_RENDERED: "The files of a job are not what the job renders to.",
}
"""What each rule says; it begins the rule's section of docs/rules.md."""

_READ: Final = 1 << 20
"""Characters of a file that are read to find the first line that differs."""


class FileComparison(Record):
    """The differences between the files and what the jobs render to. A note is about one that is meant to be."""

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def compare_files(documents: Sequence[Document], plan: WritePlan) -> FileComparison:
    """Compare the files on disk with what the jobs render to. Nothing is written.

    Args:
        documents: jobs without errors, no two of one name.
        plan: what a render of them, in their order, would do, with `upgrade`.

    Raises:
        TfgenError: the disk cannot be read.
    """
    problems: list[Problem] = []
    notes: list[str] = []
    with OutputFolder(plan.out) as folder:
        for document, job in zip(documents, plan.jobs, strict=True):
            edited = tuple(_edits_by_hand(job))
            problems += (_hand_edited_problem(folder, document, plan, change) for change in edited)
            pending = [
                change for change in job.changes if change.action is not FileAction.KEEP and change not in edited
            ]
            reason = _reason(job)
            if job.before and (not pending or (reason is None and edited)):
                continue
            if reason is None:
                notes.append(_note(folder, plan, job, pending))
            else:
                message = f"{reason}{_would_change(folder, plan, pending)}; tfgen render {document.file}"
                problems.append(Problem(document.file, document.value(("metadata", "name")), message, NOT_RENDERED))
        problems += _blocked_files(documents, plan)
    return FileComparison(in_order(problems), tuple(notes))


def _reason(job: JobPlan) -> str | None:
    """Why the files are out of date; None where the job itself is as it was rendered."""
    name = job.rendering.job
    if job.before is None:
        own = (f"{CHARTS}/{name}/", f"{OVERLAYS}/{name}/")
        has_files = any(change.digest is not None and change.path.startswith(own) for change in job.changes)
        return (
            f"{ledger_path(name)} is gone, which has the files of {name}" if has_files else f"{name} was never rendered"
        )
    if job.before.unfinished is not None:
        return f"the last render of {name} came to no end"
    if job.before.is_of_same_job(job.target):
        return None
    return f"{name} was changed since it was rendered"


def _would_change(folder: OutputFolder, plan: WritePlan, pending: Sequence[FileChange]) -> str:
    if not pending:
        return ""
    return f": {count(len(pending), 'file')} would change, the first at {_first_place(folder, plan, pending)}"


def _edits_by_hand(job: JobPlan) -> Iterator[FileChange]:
    """The files that are neither as tfgen wrote them nor as it would write them now."""
    if job.before is None:
        return
    for change in job.changes:
        match change.action:
            case FileAction.CHANGE | FileAction.REMOVE:
                is_edited = change.digest is None or not job.before.wrote(change.path, change.digest)
            case FileAction.CREATE:
                is_edited = change.path in job.before.files and job.before.unfinished is None
            case _:
                is_edited = False
        if is_edited:
            yield change


def _hand_edited_problem(folder: OutputFolder, document: Document, plan: WritePlan, change: FileChange) -> Problem:
    file = _shown(plan.out, change.path)
    way_out = f"change {document.file} instead, or take the edit back: tfgen render --force {document.file}"
    if change.digest is None:
        message = f"the file is gone; to have it again: tfgen render {document.file}"
        return Problem(file, Position(1, 1), message, HAND_EDITED)
    if change.action is FileAction.REMOVE:
        message = f"the file was edited since tfgen wrote it, and is rendered no longer; {way_out}"
        return Problem(file, Position(1, 1), message, HAND_EDITED)
    line, on_disk, rendered = _first_difference(folder.read_text(change.path, _READ), change.text or "")
    message = f"{_line(on_disk)} where tfgen renders {_line(rendered)}; {way_out}"
    return Problem(file, Position(line, 1), message, HAND_EDITED)


def _blocked_files(documents: Sequence[Document], plan: WritePlan) -> Iterator[Problem]:
    """Files that no render could write: a folder or a link is in the way, or another job has them."""
    owner = {path: document for document, job in zip(documents, plan.jobs, strict=True) for path in job.target.files}
    for conflict in plan.conflicts:
        if not conflict.can_force:
            document = owner[conflict.path]
            position = document.value(("metadata", "name"))
            yield Problem(document.file, position, f"cannot be rendered: {conflict}", NOT_RENDERED)


def _note(folder: OutputFolder, plan: WritePlan, job: JobPlan, pending: Sequence[FileChange]) -> str:
    """What would change with the job's next change, and why it does not now."""
    causes = job.before.made_otherwise(job.target) if job.before else []
    why = " and ".join(causes) or f"{ledger_path(job.rendering.job)} has the files of another build of this version"
    return (
        f"{job.rendering.job} stays as it is committed until it changes: {why}; "
        f"{count(len(pending), 'file')} would change, the first at {_first_place(folder, plan, pending)}"
    )


def _first_place(folder: OutputFolder, plan: WritePlan, changes: Sequence[FileChange]) -> str:
    change = min(changes, key=lambda item: item.path)
    line = 1
    if change.action is FileAction.CHANGE:
        line, _, _ = _first_difference(folder.read_text(change.path, _READ), change.text or "")
    return f"{_shown(plan.out, change.path)}:{line}"


def _first_difference(on_disk: str, rendered: str) -> tuple[int, str | None, str | None]:
    """The first line that differs, from 1, as it is and as it is wanted; None past the end of a text."""
    pairs = zip_longest(on_disk.split("\n"), rendered.split("\n"))
    return next((n, here, there) for n, (here, there) in enumerate(pairs, start=1) if here != there)


def _line(text: str | None) -> str:
    return "the file ends" if text is None else shown(text)


def _shown(out: Path, path: str) -> str:
    """A file as it is to be reported: from the current folder."""
    return os.path.relpath(out / path)
