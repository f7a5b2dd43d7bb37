"""Comparison of the files of jobs on disk with the output of `tfgen render`, and the reasons for differences.

A ledger does not prove that tfgen wrote a file, because a pull request can change the ledger. So git decides which
files are accepted (`change.committed_jobs`):

- The files of an unchanged committed job are accepted, even if a different tfgen or different defaults rendered the
  files. A note names the files that tfgen will change together with the next change of the job.
- The files of a changed job, including the ledger, must equal the files that the running tfgen renders. A difference
  is an error.

The ledger only determines the message of an error:

- A file was edited by hand if its digest differs from the digest in the ledger.
- git converted the line endings of a file if the file has the digest in the ledger after the conversion of CRLF to LF.
  One error names all such files.
- A job was changed after its last render if its digest differs from `input` in the ledger.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final

from tfgen import __version__
from tfgen.errors import Place, Position, Problem, in_order
from tfgen.places import CHARTS, OVERLAYS
from tfgen.record import Record
from tfgen.tree.folder import ReadableFolder, open_tree
from tfgen.tree.ledger import has_conflict, ledger_path
from tfgen.tree.plan import FileAction, FileChange, JobPlan, WritePlan
from tfgen.words import command_line, count, shown_pair

HAND_EDITED: Final = "hand-edited"
LINE_ENDS: Final = "line-ends"
NOT_RENDERED: Final = "not-rendered"
NOT_REPRODUCED: Final = "not-reproduced"

RULES: Final[Mapping[str, str]] = {
    HAND_EDITED: "A user edited or removed a file that tfgen rendered.",
    LINE_ENDS: "The lines of rendered files end with CRLF.",
    NOT_RENDERED: "A user changed a job, but did not render the files of the job again.",
    NOT_REPRODUCED: "A changed file matches its ledger, but not the file that this version of tfgen renders.",
}
"""The summary of each rule, which begins the section of the rule in docs/rules.md."""

_MAX_FILES: Final = 10
"""Maximum number of files of a job that have a separate problem. One more problem counts the remaining files."""

_MAX_CHARACTERS: Final = 1 << 20
"""Maximum number of characters of a file in which tfgen searches for the first line that differs."""


class FileComparison(Record):
    """The result of a comparison of files on disk with rendered jobs. A note describes an accepted difference."""

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


class Base(Record):
    """Base of comparison: a commit, with the unchanged jobs and the changed rendered files since this commit.

    Attributes:
        committed: the jobs whose rendered files are the same as in the commit.
        changed: the paths, relative to the output folder, of the rendered files that differ from the commit.
        revision: the commit; empty for a comparison without a commit.
    """

    committed: Collection[str] = ()
    changed: Collection[str] = ()
    revision: str = ""


def compare_files(places: Mapping[str, Place], plan: WritePlan, base: Base) -> FileComparison:
    """Compare the files on disk with the rendered jobs, without writing a file.

    Args:
        places: the line of the key `metadata.name` of each job without errors, by the name of the job.
        plan: the plan of `tfgen render --upgrade` for the jobs, in the same order.
        base: the base of comparison in git.

    Raises:
        TfgenError: the disk cannot be read.
    """
    problems: list[Problem] = []
    notes: list[str] = []
    converted: list[str] = []
    blocked = {conflict.path for conflict in plan.conflicts if not conflict.can_force}
    with open_tree(plan.out, plan.request.tree) as folder:
        for planned, (name, place) in zip(plan.jobs, places.items(), strict=True):
            may_stay = name in base.committed
            if ledger_path(name) in blocked:
                continue
            if planned.counts.keys() == {FileAction.KEEP} and name in plan.ledgers and may_stay:
                continue
            job = planned.plan
            edited = tuple(_edits_by_hand(job))
            converted += (change.path for change in job.changes if _is_converted(job, change))
            problems += _hand_edited_problems(folder, place.file, plan, job, edited)
            pending = [
                change
                for change in job.changes
                if change.action is not FileAction.KEEP and change not in edited and not _differs_in_line_ends(change)
            ]
            reason = _reason(job)
            if reason is not None:
                if pending or not (job.before and edited):
                    changes = f": {_pending_files(folder, plan, job, pending)}" if pending else ""
                    message = f"{reason}{changes}; run {command_line('render', place.file)}"
                    problems.append(Problem(*place, message, NOT_RENDERED))
                continue
            foreign = [change for change in pending if not may_stay or change.path in base.changed]
            problems += _different_render_problems(folder, place.file, plan, job, foreign, base)
            if not (may_stay or pending or edited) and job.before != job.target:
                advice = _advice(place.file, job, base)
                message = f"the ledger differs from the ledger that tfgen {__version__} writes; {advice}"
                problems.append(_problem(plan, ledger_path(name), message, NOT_REPRODUCED))
            if may_stay and not edited and (pending := [change for change in pending if change not in foreign]):
                notes.append(_note(folder, place.file, plan, job, pending))
        problems += _blocked_files(tuple(places.values()), plan)
    if converted:
        problems.append(_line_ends_problem(plan, sorted(set(converted))))
    return FileComparison(in_order(problems), tuple(notes))


def _reason(job: JobPlan) -> str | None:
    """Return the reason why the files of a job are out of date; None if the job is unchanged since its last render."""
    name = job.rendering.job
    if job.before is None:
        folders = (f"{CHARTS}/{name}/", f"{OVERLAYS}/{name}/")
        has_files = any(change.before is not None and change.path.startswith(folders) for change in job.changes)
        return f"{ledger_path(name)}, the ledger of {name}, is missing" if has_files else f"{name} was never rendered"
    if job.before.unfinished is not None:
        return f"the files of {name} are from a merge, or from a render that was interrupted"
    if job.before.is_of_same_job(job.target):
        return None
    return f"{name} was changed after its last render"


def _pending_files(folder: ReadableFolder, plan: WritePlan, job: JobPlan, pending: Sequence[FileChange]) -> str:
    removed = sum(change.action is FileAction.REMOVE for change in pending)
    removals = f" ({removed} would be removed)" if removed else ""
    first = min(pending, key=lambda item: item.path)
    line = _differing_line(folder, job, first)[0] if first.action is FileAction.CHANGE else 1
    place = f"{_shown(plan.out, first.path)}:{line}"
    return f"{count(len(pending), 'file')} would change{removals}, the first at {place}"


def _differing_line(folder: ReadableFolder, job: JobPlan, change: FileChange) -> tuple[int, str | None, str | None]:
    return first_difference(folder.read_text(change.path, _MAX_CHARACTERS), job.text(change.path))


def _problem(plan: WritePlan, path: str, message: str, rule: str, line: int = 1) -> Problem:
    return Problem(_shown(plan.out, path), Position(line, 1), message, rule)


def _edits_by_hand(job: JobPlan) -> Iterator[FileChange]:
    """Yield the files that somebody edited or deleted by hand.

    An edited file has neither the content that tfgen wrote, nor the content that tfgen would write.
    """
    if job.before is None:
        return
    for change in job.changes:
        match change.action:
            case FileAction.CHANGE | FileAction.REMOVE:
                is_edited = not (_is_in_ledger(job, change.path, change.before) or _is_converted(job, change))
            case FileAction.CREATE:
                is_edited = change.path in job.before.files and job.before.unfinished is None
            case _:
                is_edited = False
        if is_edited:
            yield change


def _is_in_ledger(job: JobPlan, path: str, digest: str | None) -> bool:
    """Return True if the ledger lists a file with this path and digest."""
    return job.before is not None and digest is not None and job.before.wrote(path, digest)


def _is_converted(job: JobPlan, change: FileChange) -> bool:
    """Return True if a file differs only in line endings from the file that tfgen wrote or would write."""
    return _is_in_ledger(job, change.path, change.unix_digest) or _differs_in_line_ends(change)


def _differs_in_line_ends(change: FileChange) -> bool:
    """Return True if a file differs only in line endings from the file that tfgen would write."""
    return change.after is not None and change.unix_digest == change.after


def _line_ends_problem(plan: WritePlan, paths: Sequence[str]) -> Problem:
    message = (
        f"found {count(len(paths), 'rendered file')} with CRLF line endings, but tfgen writes LF; if git converts "
        "line endings (core.autocrlf), write charts/** -text, overlays/** -text and .tfgen/** -text into "
        ".gitattributes; then render the jobs"
    )
    return _problem(plan, paths[0], message, LINE_ENDS)


def _hand_edited_problems(
    folder: ReadableFolder, source: str, plan: WritePlan, job: JobPlan, changes: Sequence[FileChange]
) -> Iterator[Problem]:
    """Yield a problem for each of the first `_MAX_FILES` hand-edited files, and one problem for all other files."""
    yield from (_hand_edited_problem(folder, source, plan, job, change) for change in changes[:_MAX_FILES])
    if remaining := changes[_MAX_FILES:]:
        verb = "was" if len(remaining) == 1 else "were"
        message = (
            f"{count(len(remaining), 'more file')} {verb} edited by hand; to discard the edits: "
            f"{command_line('render', '--force', source)}"
        )
        yield _problem(plan, remaining[0].path, message, HAND_EDITED)


def _different_render_problems(
    folder: ReadableFolder, source: str, plan: WritePlan, job: JobPlan, changes: Sequence[FileChange], base: Base
) -> Iterator[Problem]:
    """Yield a problem for each file that differs from the file that this version of tfgen renders.

    `changes` lists these files. After the first `_MAX_FILES` files, all other files share a single problem.
    """
    advice = _advice(source, job, base)
    for change in changes[:_MAX_FILES]:
        line, what = 1, "this version of tfgen does not render the file"
        if change.action is FileAction.CREATE:
            what = "the file is missing"
        elif change.action is FileAction.CHANGE:
            line, on_disk, rendered = _differing_line(folder, job, change)
            what = difference(on_disk, rendered, f"tfgen {__version__}")
        yield _problem(plan, change.path, f"{what}; {advice}", NOT_REPRODUCED, line)
    if remaining := changes[_MAX_FILES:]:
        verb = "differs" if len(remaining) == 1 else "differ"
        message = (
            f"{count(len(remaining), 'more file')} of {job.rendering.job} {verb} from the render of this version; "
            f"{advice}"
        )
        yield _problem(plan, remaining[0].path, message, NOT_REPRODUCED)


def _advice(source: str, job: JobPlan, base: Base) -> str:
    """Return the end of a message: the reason for the error, and the command that renders the job again."""
    files = f"the job differs from {base.revision}, so its files" if base.revision else "the files of the job"
    named = ""
    if job.before and job.before.tool_version != job.target.tool_version:
        named = f" (the ledger names tfgen {job.before.tool_version})"
    elif job.before and job.before.defaults_digest != job.target.defaults_digest:
        named = " (the defaults of the job changed)"
    return (
        f"{files} must equal the files that this version of tfgen renders{named}; "
        f"run: {command_line('render', '--upgrade', source)}"
    )


def _hand_edited_problem(
    folder: ReadableFolder, source: str, plan: WritePlan, job: JobPlan, change: FileChange
) -> Problem:
    line, render = 1, command_line("render", source)
    advice = f"change {source} instead, or discard the edit: {command_line('render', '--force', source)}"
    if change.before is None:
        message = f"the file is missing; to restore the file: {render}"
    elif change.action is FileAction.REMOVE:
        message = f"the file was edited by hand, but the job no longer renders the file; {advice}"
    else:
        line, on_disk, rendered = _differing_line(folder, job, change)
        message = f"{difference(on_disk, rendered, 'tfgen')}; {advice}"
        if has_conflict(folder.read_text(change.path, _MAX_CHARACTERS)):
            message = f"the file has a merge conflict; resolve the conflict in {source}, then run: {render}"
    return _problem(plan, change.path, message, HAND_EDITED, line)


def _blocked_files(places: Sequence[Place], plan: WritePlan) -> Iterator[Problem]:
    """Yield a problem for each file that tfgen cannot write, for example because a folder has the same path."""
    blocked = [conflict for conflict in plan.conflicts if not conflict.can_force]
    if blocked:
        paths = {conflict.path for conflict in blocked}
        jobs = ((place, job.plan) for place, job in zip(places, plan.jobs, strict=True))
        owner = {
            path: place for place, job in jobs for path in paths & {*job.target.files, ledger_path(job.rendering.job)}
        }
        for conflict in blocked:
            yield Problem(*owner[conflict.path], f"tfgen cannot write {conflict}", NOT_RENDERED)


def _note(folder: ReadableFolder, source: str, plan: WritePlan, job: JobPlan, pending: Sequence[FileChange]) -> str:
    """Return a note on the committed files that tfgen will render differently after the next change of the job."""
    causes = job.before.causes_of_change(job.target) if job.before else []
    cause = (
        " and ".join(causes) or f"{ledger_path(job.rendering.job)} lists the files of a different build of this version"
    )
    return (
        f"{job.rendering.job} keeps its committed files until the job changes: {cause}; "
        f"{_pending_files(folder, plan, job, pending)}; to render the job now: "
        f"{command_line('render', '--upgrade', source)}"
    )


def first_difference(on_disk: str, rendered: str) -> tuple[int, str | None, str | None]:
    """Return the number and the two versions of the first line that differs.

    Example: (3, "replicas: 2", "replicas: 4"), which lists the number, the line in `on_disk` and the line in
    `rendered`. The numbers begin at 1. A line after the end of a text is None.
    """
    pairs = zip_longest(on_disk.split("\n"), rendered.split("\n"))
    return next((n, actual, expected) for n, (actual, expected) in enumerate(pairs, start=1) if actual != expected)


def difference(on_disk: str | None, rendered: str | None, renderer: str) -> str:
    """Return the words about a line that differs from the rendered line; None for a line after the end of a text."""
    found, expected = shown_pair(on_disk, rendered)
    actual = "the file ends" if on_disk is None else f"found {found}"
    return f"{actual} where {renderer} renders {'no line' if rendered is None else expected}"


def _shown(out: Path, path: str) -> str:
    """Return the path of a file relative to the current folder, for messages."""
    return os.path.relpath(out / path)
