"""Plan the write of all jobs below one output folder.

First, tfgen checks that no two jobs write the same path. Then tfgen plans the write of each job, and plans many jobs in
parallel. If several jobs share a file, the first of these jobs writes the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from contextlib import closing
from functools import cache, partial
from typing import NamedTuple

from tfgen import __version__
from tfgen.errors import TfgenError
from tfgen.places import is_in_job_folder, job_folder, placeholders
from tfgen.record import Record
from tfgen.tree.file_tree import FileTree, ancestors, path_fault
from tfgen.tree.git_folder import ReadableFolder
from tfgen.tree.ledger import LEDGER_FOLDER, Ledger, check_ledger, ledger_path
from tfgen.tree.ledgers import Ledgers
from tfgen.tree.plan import (
    Conflict,
    FileAction,
    JobPlans,
    PathAction,
    PlanInput,
    WritePlan,
    WriteRequest,
    plan_job,
)
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import InMemory, Slot, Spooled, Store
from tfgen.workers import MANY_SMALL, map_items

_LOSS_READ = 1 << 20
"""Maximum number of characters that tfgen reads from a user's file to find the lines that a write would delete."""


def plan_jobs(folder: ReadableFolder, request: WriteRequest) -> WritePlan:
    """Plan a write to an open output folder. Raises the errors of `write.plan_write`."""
    ledgers = Ledgers(folder, request.tree)
    together = _check_together(request, ledgers)
    slots: list[Slot | InMemory] = []
    conflicts = [*together.conflicts]
    unfinished: set[str] = set()
    counts: list[Mapping[FileAction, int]] = []
    restarted_revisions: list[str] = []
    decided: dict[PathAction, PathAction] = {}  # many jobs share one object
    repeated: dict[int, Set[PathAction]] = {}
    undone: list[int] = []
    plan_one = partial(_plan_one, folder, ledgers, together.owners_after_write, request.store)
    with closing(
        map_items(lambda at: plan_one(request.renderings[at]), [*together.written], many=MANY_SMALL)
    ) as planned:
        for at, (name, job) in enumerate(zip(together.written.values(), planned, strict=True)):
            slots.append(job.slot)
            conflicts += job.conflicts
            unfinished |= job.unfinished
            counts.append(job.counts)
            restarted_revisions += [name] if job.restarts_revision else []
            undone += [] if job.is_done else [at]
            if again := frozenset(decided[action] for action in job.shared if action in decided):
                repeated[at] = again
            decided.update((action, action) for action in job.shared if action not in decided)

    def files_of_done() -> Iterator[list[str]]:
        for name in request.done:
            if name in ledgers:
                keeps = [(path, FileAction.KEEP) for path in ledgers[name].files]
                yield [path for path, action in keeps if (path, action) not in decided]
                decided.update((keep, keep) for keep in keeps if not is_in_job_folder(name, keep[0]))

    done_files: Spooled[list[str]] = Spooled([request.store(files) for files in files_of_done()])
    conflicts.sort(key=lambda conflict: conflict.path)
    leftovers = tuple(path for name in sorted({LEDGER_FOLDER, *unfinished}) for path in folder.temporary_files(name))
    return WritePlan(
        request=request,
        ledgers=ledgers,
        jobs=JobPlans(Spooled(slots), tuple(counts), repeated, tuple(undone)),
        done_files=done_files,
        kept_jobs=together.kept_jobs,
        conflicts=tuple(conflict for conflict in conflicts if not (request.force and conflict.can_force)),
        lost=tuple(conflict for conflict in conflicts if request.force and conflict.can_force),
        leftovers=leftovers,
        restarted_revisions=tuple(restarted_revisions),
    )


class _Jobs(Record):
    """The jobs to write and the jobs to leave unchanged, after a check of all renderings together.

    Attributes:
        written: the names of the jobs to write, by index of the rendering.
        owners_after_write: the number of jobs whose ledgers list a path after the write, as in `PlanInput`.
        kept_jobs: the jobs whose files remain unchanged, as in `WritePlan`. For each of these committed jobs, only the
            version of tfgen or the defaults changed.
        conflicts: a conflict for each job that has its rendered files from another job file, which still has the job.
    """

    written: Mapping[int, str]
    owners_after_write: Mapping[str, int]
    kept_jobs: Mapping[str, str]
    conflicts: tuple[Conflict, ...]


def _check_together(request: WriteRequest, ledgers: Ledgers) -> _Jobs:
    """Find the jobs that the write includes. Raise TfgenError if two jobs have the same path or the same ledger."""
    committed = cache(partial(request.find_committed, ledgers))
    names: dict[str, str] = {}
    written: dict[int, str] = {}
    kept_jobs: dict[str, str] = {}
    parts: dict[str, Mapping[str, str]] = {}
    shared: set[str] = set()
    conflicts: list[Conflict] = []
    for at, rendering in enumerate(request.renderings):
        job = rendering.job
        if "/" in job or job.startswith(".") or path_fault(job):
            raise TfgenError(f"{job!r} is not a valid name of a job: a ledger cannot have this name")
        if namesake := names.get(job.casefold()):
            raise TfgenError(f"{job!r} and {namesake!r} are two jobs with the same ledger; rename one of the jobs")
        names[job.casefold()] = job
        before = ledgers.get(job)
        source = before.source if before and rendering.source else ""
        if source.casefold() != rendering.source.casefold() and source and request.has_job(job, source):
            what = (
                f"the rendered files of {job} belong to {source}, which still has a job with the name {job}; for a new "
                f"job, set another metadata.name in {rendering.source}; for a moved job, remove {source}"
            )
            conflicts.append(Conflict(ledger_path(job), what))
        target = rendering.ledger(__version__)
        if before and before.differs_only_by_tool_or_defaults(target) and job in committed():
            kept_jobs[job] = before.renderer(target)
            continue
        written[at] = job
        # `combine` compares digests in place of texts, so that no text is read from the spool.
        texts = {path: text for path, text in rendering.tree.digests.items() if not is_in_job_folder(job, path)}
        if texts:
            parts[f"job {job}"] = texts
            shared |= rendering.shared
    FileTree.combine(parts, shared)
    names_written = frozenset(written.values())
    owners_after_write = Counter(path.casefold() for part in parts.values() for path in part)
    for path, owners in ledgers.shared_paths():
        owners_after_write[path] += len({*owners} - names_written)
    return _Jobs(written, owners_after_write, kept_jobs, tuple(conflicts))


class _Planned(NamedTuple):
    """A summary of the plan of one job. The spool stores the complete plan.

    Attributes:
        slot: the position of the complete plan in the spool, or the plan itself if tfgen uses no spool.
        conflicts: the conflicts of the job.
        counts: the number of files for each action.
        shared: the path and the action for each file outside the folder of the job.
        unfinished: the folders in which a killed render may have left temporary files.
        is_done: whether the files on disk already match the plan.
        restarts_revision: whether a revision number in a rendered file starts again at 0, because the ledger is
            missing.
    """

    slot: Slot | InMemory
    conflicts: tuple[Conflict, ...]
    counts: Mapping[FileAction, int]
    shared: tuple[PathAction, ...]
    unfinished: frozenset[str]
    is_done: bool
    restarts_revision: bool


def _plan_one(
    folder: ReadableFolder, ledgers: Ledgers, owners_after_write: Mapping[str, int], store: Store, rendering: Rendering
) -> _Planned:
    before = ledgers.get(rendering.job)
    listed = before.paths() if before else set()
    on_disk = folder.states({*rendering.tree.files, *listed, *placeholders(listed)})
    inputs = PlanInput(ledgers, on_disk, owners_after_write, partial(folder.read_text, limit=_LOSS_READ))
    job, conflicts = plan_job(rendering, inputs, __version__)
    check_ledger(rendering.job, job.target)
    return _Planned(
        slot=store(job),
        conflicts=conflicts,
        counts=job.counts(),
        shared=job.shared_path_actions(),
        unfinished=frozenset(_folders(before) if before and before.unfinished is not None else ()),
        is_done=job.is_done(),
        restarts_revision=job.restarts_revision(),
    )


def _folders(ledger: Ledger) -> Iterator[str]:
    """Yield the folders in which a killed render of the ledger's job may have left temporary files or folders."""
    for path in ledger.files:
        yield from ancestors(path) if job_folder(path) else (path.rpartition("/")[0],)
