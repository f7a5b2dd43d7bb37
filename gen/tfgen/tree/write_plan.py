"""What writing some jobs below one output folder would do, from the plans of each of them.

    plan_jobs(folder, WriteRequest(out, [Rendering("dist-mnist", tree, input_digest)], ...))  ->  WritePlan(...)

First all jobs are looked at together: two of them cannot have one path. Then each is planned by itself, of many some at
a time. Last comes what several jobs have, which the first of them takes care of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import closing
from functools import cache, partial
from typing import NamedTuple

from tfgen import __version__
from tfgen.errors import TfgenError
from tfgen.places import is_in_own_folder, own_folder
from tfgen.record import Record
from tfgen.tree.file_tree import FileTree, ancestors, path_fault
from tfgen.tree.ledger import LEDGER_FOLDER, Ledger, check_ledger
from tfgen.tree.ledgers import Ledgers
from tfgen.tree.output_folder import OutputFolder
from tfgen.tree.plan import (
    Conflict,
    Fate,
    FileAction,
    FindCommitted,
    JobPlans,
    Surroundings,
    WritePlan,
    WriteRequest,
    plan_job,
)
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import Held, Put, Slot, Spooled
from tfgen.workers import MANY_SMALL, map_items

_LOSS_READ = 1 << 20
"""Characters of a user's file that are read to say what of it would be lost."""


def plan_jobs(folder: OutputFolder, request: WriteRequest) -> WritePlan:
    """Plan a write to an open output folder. The errors are those of `write.plan_write`."""
    ledgers = Ledgers(folder)
    together = _look_at(request.renderings, ledgers, request.find_committed)
    slots: list[Slot | Held] = []
    conflicts: list[Conflict] = []
    unfinished: set[str] = set()
    counts: list[Mapping[FileAction, int]] = []
    recounted: list[str] = []
    decided: dict[Fate, Fate] = {}  # so that many jobs have one object
    repeated: dict[int, Set[Fate]] = {}
    undone: list[int] = []
    plan_one = partial(_plan_one, folder, ledgers, together.final, request.put)
    with closing(
        map_items(lambda at: plan_one(request.renderings[at]), [*together.written], many=MANY_SMALL)
    ) as planned:
        for at, (name, job) in enumerate(zip(together.written.values(), planned, strict=True)):
            slots.append(job.slot)
            conflicts += job.conflicts
            unfinished |= job.unfinished
            counts.append(job.counts)
            recounted += [name] if job.is_recounted else []
            undone += [] if job.is_done else [at]
            if again := frozenset(decided[one] for one in job.shared if one in decided):
                repeated[at] = again
            decided.update((one, one) for one in job.shared if one not in decided)

    def files_of_done() -> Iterator[list[str]]:
        for name in request.done:
            if name in ledgers:
                keeps = [(path, FileAction.KEEP) for path in ledgers[name].files]
                yield [path for path, action in keeps if (path, action) not in decided]
                decided.update((one, one) for one in keeps if not is_in_own_folder(name, one[0]))

    done_files: Spooled[list[str]] = Spooled([request.put(files) for files in files_of_done()])
    conflicts.sort(key=lambda one: one.path)
    leftovers = tuple(path for name in sorted({LEDGER_FOLDER, *unfinished}) for path in folder.temporary_files(name))
    return WritePlan(
        request=request,
        ledgers=ledgers,
        jobs=JobPlans(Spooled(slots), tuple(counts), repeated, tuple(undone)),
        done_files=done_files,
        kept=together.kept,
        conflicts=tuple(one for one in conflicts if not (request.force and one.can_force)),
        lost=tuple(one for one in conflicts if request.force and one.can_force),
        leftovers=leftovers,
        recounted=tuple(recounted),
    )


class _Jobs(Record):
    """What the renderings are together.

    Attributes:
        written: the jobs that do not stay as they are, by the places of their renderings.
        final: how many jobs have each path, case folded, when all is written; of paths that more than one may have.
        kept: the jobs that stay as they are, as `WritePlan` has them.
    """

    written: Mapping[int, str]
    final: Mapping[str, int]
    kept: Mapping[str, str]


def _look_at(renderings: Iterable[Rendering], ledgers: Ledgers, find_committed: FindCommitted) -> _Jobs:
    """Look at all jobs; refuses what two of them cannot both have, their ledgers' names included."""
    committed = cache(partial(find_committed, ledgers))
    names: dict[str, str] = {}
    written: dict[int, str] = {}
    kept: dict[str, str] = {}
    parts: dict[str, Mapping[str, str]] = {}
    shared: set[str] = set()
    for at, rendering in enumerate(renderings):
        job = rendering.job
        if "/" in job or job.startswith(".") or path_fault(job):
            raise TfgenError(f"{job!r} is no name for a job: its ledger could not be named so")
        if other := names.get(job.casefold()):
            raise TfgenError(f"{job!r} and {other!r} are two jobs with one ledger; give one of them another name")
        names[job.casefold()] = job
        before = ledgers.get(job)
        if before and before.stays(rendering.ledger(__version__)) and job in committed():
            kept[job] = before.tool_version
            continue
        written[at] = job
        # The digest stands for the text: it is as equal as that is.
        texts = {path: text for path, text in rendering.tree.digests.items() if not is_in_own_folder(job, path)}
        if texts:
            parts[f"job {job}"] = texts
            shared |= rendering.shared
    FileTree.combine(parts, shared)
    names_written = frozenset(written.values())
    final = Counter(path.casefold() for part in parts.values() for path in part)
    for path, owners in ledgers.paths_of_several():
        final[path] += len({*owners} - names_written)
    return _Jobs(written, final, kept)


class _Planned(NamedTuple):
    """What the plans of several jobs are put together from, of one job.

    Attributes:
        slot: where its plan waits.
        conflicts: what is in its way.
        counts: how many files have which fate.
        shared: the paths that other jobs may have too, with their fates.
        unfinished: the folders in which a render that was killed has left something.
        is_done: whether the disk has all as it should be.
        is_recounted: whether the ledger is gone of which the number in a file goes on.
    """

    slot: Slot | Held
    conflicts: tuple[Conflict, ...]
    counts: Mapping[FileAction, int]
    shared: tuple[Fate, ...]
    unfinished: frozenset[str]
    is_done: bool
    is_recounted: bool


def _plan_one(
    folder: OutputFolder, ledgers: Ledgers, final: Mapping[str, int], put: Put, rendering: Rendering
) -> _Planned:
    before = ledgers.get(rendering.job)
    on_disk = folder.survey({*rendering.tree.files, *(before.paths() if before else ())})
    around = Surroundings(ledgers, on_disk, final, partial(folder.read_text, limit=_LOSS_READ))
    job, conflicts = plan_job(rendering, around, __version__)
    check_ledger(rendering.job, job.target)
    return _Planned(
        slot=put(job),
        conflicts=conflicts,
        counts=job.counts(),
        shared=job.shared_decisions(),
        unfinished=frozenset(_folders(before) if before and before.unfinished is not None else ()),
        is_done=job.is_done(),
        is_recounted=job.is_recounted(),
    )


def _folders(ledger: Ledger) -> Iterator[str]:
    """The folders above a ledger's files, in which a render that was killed has left temporary files and folders."""
    for path in ledger.files:
        yield from ancestors(path) if own_folder(path) else (path.rpartition("/")[0],)
