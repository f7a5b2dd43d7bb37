"""Compares the files of jobs on disk with what `tfgen render` would write, and names the reason for a difference.

    compare_files({"mnist": Place("job.yaml", Position(3, 18))}, plan, committed)
        ->  FileComparison(problems=(Problem("overlays/mnist/...", ... "hand-edited"),), notes=())

Git decides which files are accepted (`change.committed_jobs`), because a pull request can write a ledger:

- The files of a job that is as committed stay, though another tfgen or other defaults rendered them. A note names what
  the job's next change would change with it.
- The files of any other job must be what this tfgen renders, the ledger included. A difference is an error.

The ledger only chooses the words of an error:

- A file whose digest differs from the ledger's was edited by hand.
- Files that have the ledger's digest with LF for CRLF were written by git, which converts line ends where it is
  configured to. One error names all of them.
- A job whose digest differs from the ledger's `input` was changed, and not rendered since.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final

from tfgen import __version__
from tfgen.places import CHARTS, OVERLAYS
from tfgen.plural import count
from tfgen.problems import Place, Position, Problem, in_order
from tfgen.record import Record
from tfgen.tree.file_tree import digest_of
from tfgen.tree.ledger import ledger_path
from tfgen.tree.merge_conflict import has_conflict
from tfgen.tree.output_folder import OutputFolder
from tfgen.tree.plan import FileAction, FileChange, JobPlan, WritePlan
from tfgen.words import shown

HAND_EDITED: Final = "hand-edited"
LINE_ENDS: Final = "line-ends"
NOT_RENDERED: Final = "not-rendered"
NOT_REPRODUCED: Final = "not-reproduced"

RULES: Final[Mapping[str, str]] = {
    HAND_EDITED: "A file that tfgen wrote has changed.",
    LINE_ENDS: "Files that tfgen wrote have other line ends than it writes.",
    NOT_RENDERED: "The files of a job are not what the job renders to.",
    NOT_REPRODUCED: "A changed file is not what this tfgen renders, though its ledger lists it.",
}
"""What each rule says; it begins the rule's section of docs/rules.md."""

_MOST: Final = 10
"""Files of a job that were edited by hand and are named; more are counted."""

_READ: Final = 1 << 20
"""Characters of a file that are read to find the first line that differs."""


class FileComparison(Record):
    """The differences between the files and what the jobs render to. A note is about one that is meant to be."""

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


class Base(Record):
    """Base of comparison: the jobs that are as a commit has them.

    Attributes:
        committed: the jobs whose rendered files are as the commit has them.
        changed: the rendered files that differ from the commit, by their paths from the output folder.
        revision: the commit; empty where no difference from a commit counts.
    """

    committed: Collection[str] = ()
    changed: Collection[str] = ()
    revision: str = ""


def compare_files(names: Mapping[str, Place], plan: WritePlan, base: Base) -> FileComparison:
    """Compare the files on disk with what the jobs render to. Nothing is written.

    Args:
        names: jobs without errors, and the place of each job's name.
        plan: what `tfgen render --upgrade` of the jobs, in their order, would do.
        base: what git knows of the files.

    Raises:
        TfgenError: the disk cannot be read.
    """
    problems: list[Problem] = []
    notes: list[str] = []
    converted: list[str] = []
    with OutputFolder(plan.out) as folder:
        for at, (name, place) in enumerate(names.items()):
            may_stay = name in base.committed
            if plan.jobs.counts[at].keys() == {FileAction.KEEP} and name in plan.ledgers and may_stay:
                continue
            job = plan.jobs[at]
            edited = tuple(_edits_by_hand(job))
            converted += (change.path for change in job.changes if _is_converted(job, change))
            problems += _hand_edited_problems(folder, place.file, plan, edited)
            pending = [
                change
                for change in job.changes
                if change.action is not FileAction.KEEP and change not in edited and not _has_text(change)
            ]
            reason = _reason(job)
            if reason is not None:
                if pending or not (job.before and edited):
                    message = f"{reason}{_would_change(folder, plan, pending)}; tfgen render {place.file}"
                    problems.append(Problem(*place, message, NOT_RENDERED))
                continue
            foreign = [change for change in pending if not may_stay or change.path in base.changed]
            problems += _not_reproduced(folder, place.file, plan, job, foreign, base)
            if not (may_stay or pending or edited) and job.before != job.target:
                problems.append(_foreign_ledger(place.file, plan, job, base))
            if may_stay and not edited and (pending := [change for change in pending if change not in foreign]):
                notes.append(_note(folder, plan, job, pending))
        problems += _blocked_files(tuple(names.values()), plan)
    if converted:
        problems.append(_line_ends_problem(plan, sorted(set(converted))))
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
        return f"the files of {name} are from a merge, or from a render that did not end"
    if job.before.is_of_same_job(job.target):
        return None
    return f"{name} was changed since it was rendered"


def _would_change(folder: OutputFolder, plan: WritePlan, pending: Sequence[FileChange]) -> str:
    if not pending:
        return ""
    return f": {_pending_files(folder, plan, pending)}"


def _pending_files(folder: OutputFolder, plan: WritePlan, pending: Sequence[FileChange]) -> str:
    removed = sum(change.action is FileAction.REMOVE for change in pending)
    removals = f" ({removed} would be removed)" if removed else ""
    return f"{count(len(pending), 'file')} would change{removals}, the first at {_first_place(folder, plan, pending)}"


def _edits_by_hand(job: JobPlan) -> Iterator[FileChange]:
    """The files that are neither as tfgen wrote them nor as it would write them now."""
    if job.before is None:
        return
    for change in job.changes:
        match change.action:
            case FileAction.CHANGE | FileAction.REMOVE:
                is_edited = not (_is_written(job, change.path, change.digest) or _is_converted(job, change))
            case FileAction.CREATE:
                is_edited = change.path in job.before.files and job.before.unfinished is None
            case _:
                is_edited = False
        if is_edited:
            yield change


def _is_written(job: JobPlan, path: str, digest: str | None) -> bool:
    """Whether tfgen wrote a file of this digest there."""
    return job.before is not None and digest is not None and job.before.wrote(path, digest)


def _is_converted(job: JobPlan, change: FileChange) -> bool:
    """Whether a file is as tfgen wrote it, or would write it, but for its line ends."""
    return _is_written(job, change.path, change.unix_digest) or _has_text(change)


def _has_text(change: FileChange) -> bool:
    """Whether a file has all of its text already, and other line ends."""
    return change.text is not None and change.unix_digest == digest_of(change.text)


def _line_ends_problem(plan: WritePlan, paths: Sequence[str]) -> Problem:
    message = (
        f"{count(len(paths), 'rendered file')} with the line ends CRLF, and tfgen writes LF; where git converts them "
        "(core.autocrlf), write charts/** -text, overlays/** -text and .tfgen/** -text into .gitattributes; "
        "then render the jobs"
    )
    return Problem(_shown(plan.out, paths[0]), Position(1, 1), message, LINE_ENDS)


def _hand_edited_problems(
    folder: OutputFolder, source: str, plan: WritePlan, changes: Sequence[FileChange]
) -> Iterator[Problem]:
    """Yield a problem for each of the first files, and one for all further files."""
    yield from (_hand_edited_problem(folder, source, plan, change) for change in changes[:_MOST])
    if more := changes[_MOST:]:
        are = "file is" if len(more) == 1 else "files are"
        message = f"{len(more)} more {are} not as tfgen wrote them; to have them again: tfgen render --force"
        yield Problem(_shown(plan.out, more[0].path), Position(1, 1), f"{message} {source}", HAND_EDITED)


def _not_reproduced(
    folder: OutputFolder, source: str, plan: WritePlan, job: JobPlan, changes: Sequence[FileChange], base: Base
) -> Iterator[Problem]:
    """Yield a problem for each of the first files that the ledger vouches for and this tfgen renders differently."""
    cure = _cure(source, job, base)
    for change in changes[:_MOST]:
        line, what = 1, "this tfgen does not render the file"
        if change.action is FileAction.CREATE:
            what = "the file is missing"
        elif change.action is FileAction.CHANGE:
            line, on_disk, rendered = _first_difference(folder.read_text(change.path, _READ), change.text or "")
            what = f"{_line(on_disk)} where tfgen {__version__} renders {_line(rendered)}"
        yield Problem(_shown(plan.out, change.path), Position(line, 1), f"{what}; {cure}", NOT_REPRODUCED)
    if further := changes[_MOST:]:
        message = f"{count(len(further), 'further file')} of {job.rendering.job} with such a difference; {cure}"
        yield Problem(_shown(plan.out, further[0].path), Position(1, 1), message, NOT_REPRODUCED)


def _foreign_ledger(source: str, plan: WritePlan, job: JobPlan, base: Base) -> Problem:
    message = f"the ledger is not what tfgen {__version__} writes; {_cure(source, job, base)}"
    return Problem(_shown(plan.out, ledger_path(job.rendering.job)), Position(1, 1), message, NOT_REPRODUCED)


def _cure(source: str, job: JobPlan, base: Base) -> str:
    """Return the reason in words, and the command that renders the job anew."""
    differs = f"a job with files that differ from {base.revision}" if base.revision else "a job"
    versions = (job.before.tool_version if job.before else "", job.target.tool_version)
    named = f", and the ledger names tfgen {versions[0]}" if versions[0] != versions[1] else ""
    return f"{differs} must be as this tfgen renders it{named}; tfgen render --upgrade {source}"


def _hand_edited_problem(folder: OutputFolder, source: str, plan: WritePlan, change: FileChange) -> Problem:
    file = _shown(plan.out, change.path)
    way_out = f"change {source} instead, or take the edit back: tfgen render --force {source}"
    if change.digest is None:
        message = f"the file is gone; to have it again: tfgen render {source}"
        return Problem(file, Position(1, 1), message, HAND_EDITED)
    if change.action is FileAction.REMOVE:
        message = f"the file was edited since tfgen wrote it, and is rendered no longer; {way_out}"
        return Problem(file, Position(1, 1), message, HAND_EDITED)
    text = folder.read_text(change.path, _READ)
    line, on_disk, rendered = _first_difference(text, change.text or "")
    if has_conflict(text):
        message = f"the file has a merge conflict; merge {source}, and then: tfgen render {source}"
        return Problem(file, Position(line, 1), message, HAND_EDITED)
    message = f"{_line(on_disk)} where tfgen renders {_line(rendered)}; {way_out}"
    return Problem(file, Position(line, 1), message, HAND_EDITED)


def _blocked_files(places: Sequence[Place], plan: WritePlan) -> Iterator[Problem]:
    """Files that no render could write: a folder or a link is in the way, or another job has them."""
    blocked = [conflict for conflict in plan.conflicts if not conflict.can_force]
    if blocked:
        paths = {conflict.path for conflict in blocked}
        jobs = zip(places, plan.jobs, strict=True)
        owner = {path: place for place, job in jobs for path in paths & job.target.files.keys()}
        for conflict in blocked:
            yield Problem(*owner[conflict.path], f"cannot be rendered: {conflict}", NOT_RENDERED)


def _note(folder: OutputFolder, plan: WritePlan, job: JobPlan, pending: Sequence[FileChange]) -> str:
    """What would change with the job's next change, and why it does not now."""
    causes = job.before.causes_of_change(job.target) if job.before else []
    why = " and ".join(causes) or f"{ledger_path(job.rendering.job)} has the files of another build of this version"
    return (
        f"{job.rendering.job} stays as it is committed until it changes: {why}; {_pending_files(folder, plan, pending)}"
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
