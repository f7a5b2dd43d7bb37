"""Writes the files of many jobs below one output folder: all of them, or none.

    plan = plan_write(Path("."), [Rendering("dist-mnist", tree, input_digest)])
    apply(plan)     # raises ConflictsError if anything of the user's would be lost

The order on disk is what makes a kill at any moment harmless: each job's ledger is first replaced by its intent
(old and new digests), then all new files and the final ledgers are staged; then the files are put in their places and
old ones removed, and last the final ledgers are put in theirs. Each step is on the medium before the next begins, so
that this holds for a power cut too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tfgen import __version__
from tfgen.errors import TfgenError
from tfgen.tree.file_tree import digest_of
from tfgen.tree.ledger import LEDGER_FOLDER, LEDGER_READ, Ledger, job_of, ledger_path, parse_ledger
from tfgen.tree.ledgers import Ledgers
from tfgen.tree.output_folder import OutputFolder
from tfgen.tree.plan import (
    ConflictsError,
    FileAction,
    FindCommitted,
    JobPlan,
    WritePlan,
    WriteRequest,
    nothing_committed,
)
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import Held, Put
from tfgen.tree.write_plan import plan_jobs
from tfgen.workers import MANY_SMALL, map_items

LOCK_WAIT_S = 30.0
"""How long to wait for another tfgen at work in the same folder."""
_SYNC_EVERY = 5_000
"""Files that are staged from one sync of the machine to the next: the disk is at work while other processes stage more.

Seen on ext4 for 65,000 files: 2.3 s with one sync in the end and 2.0 s with ten, in two processes; one process takes
2 % longer with ten.
"""


def read_ledgers(out: Path) -> Ledgers:
    """Those of all jobs below `out`. Raises TfgenError that names every file that is no ledger."""
    with _reading(out) as folder:
        return Ledgers(folder)


def find_unchanged(out: Path, ledgers: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """The jobs of which all is on disk as it was, with the digests of their ledgers.

    Args:
        out: The output folder.
        ledgers: Jobs, each with the digest that the text of its ledger had.

    Raises:
        TfgenError: The disk cannot be read.
    """
    with _reading(out) as folder:
        jobs = {job_of(name) for name in folder.names(LEDGER_FOLDER)}
        return {(job, digest) for job, digest in ledgers if job in jobs and _is_unchanged(folder, job, digest)}


def digest_of_ledger(out: Path, rendering: Rendering) -> str:
    """The digest of a job's ledger once a rendering of it is written."""
    with OutputFolder(out) as folder:
        try:
            before = parse_ledger(rendering.job, folder.read_text(ledger_path(rendering.job), LEDGER_READ))
        except TfgenError:  # there is none, or `plan_write` tells what is wrong with it
            before = None
    return digest_of(rendering.following(before).ledger(__version__).to_text())


def _is_unchanged(folder: OutputFolder, job: str, digest: str) -> bool:
    """Whether all files of a job, and its ledger, are as they were."""
    text = folder.read_text(ledger_path(job), LEDGER_READ)
    if digest_of(text) != digest:
        return False
    files = parse_ledger(job, text).files
    on_disk = folder.survey(files)
    return all(on_disk[path].digest == files[path] for path in files)


def plan_write(
    out: Path,
    renderings: Sequence[Rendering],
    *,
    done: Collection[str] = (),
    force: bool = False,
    find_committed: FindCommitted = nothing_committed,
    put: Put = Held,
) -> WritePlan:
    """What `apply` will do; reads the disk, and writes nothing below it.

    Args:
        out: The output folder.
        renderings: What is to be there, each job whole. They are gone through one by one, some times.
        done: The names of jobs that are on disk as their ledgers say, so that nothing was rendered of them.
        force: Write over what the user edited.
        find_committed: Gives the jobs that stay where only this version of tfgen, or other defaults, would write them
            anew (`Ledger.stays`).
        put: Where the plans of the jobs wait.

    Raises:
        FileTreeError: Two renderings have one path.
        TfgenError: The disk, or a ledger, cannot be read.
    """
    request = WriteRequest(out, renderings, done, force, find_committed, put)
    with _reading(out) as folder:
        return plan_jobs(folder, request)


def apply(plan: WritePlan) -> WritePlan:
    """Carries the plan out, and gives the plan that was carried out.

    That is `plan`, unless another tfgen changed a ledger since it was made: it is then made anew.

    Raises:
        ConflictsError: Something of the user's would be lost; nothing was written.
        TfgenError: The disk failed, a file was changed meanwhile, or another tfgen had the folder for
            LOCK_WAIT_S seconds. What was written by then, of any job, is mended by the next run.
    """
    if plan.conflicts:
        raise ConflictsError(plan.conflicts)
    if plan.is_done:
        return plan
    with OutputFolder(plan.out, create=True) as folder, folder.locked(LEDGER_FOLDER, LOCK_WAIT_S):
        if Ledgers(folder) != plan.ledgers:
            plan = plan_jobs(folder, plan.request)
            if plan.conflicts:
                raise ConflictsError(plan.conflicts)
        _write(folder, plan)
    return plan


@contextmanager
def _reading(out: Path) -> Iterator[OutputFolder]:
    """The folder while no tfgen writes to it: half a render would look like a user's edits."""
    with OutputFolder(out) as folder, folder.locked(LEDGER_FOLDER, LOCK_WAIT_S, shared=True):
        yield folder


_WRITES = (FileAction.CREATE, FileAction.CHANGE)
_ENDS = (FileAction.REMOVE, FileAction.FORGET)


def _write(folder: OutputFolder, plan: WritePlan) -> None:
    touched = plan.jobs.which(*_WRITES, *_ENDS)

    def stage(ledger_of: Callable[[JobPlan], Ledger | None], at: int) -> _StagedLedger:
        job = plan.jobs[at]
        return _stage_ledger(folder, len(touched), job, ledger_of(job))

    folder.discard(plan.leftovers)
    try:
        intents = [*map_items(partial(stage, JobPlan.intent), touched, many=MANY_SMALL)]
        folder.sync_staged(len(touched))
        _put_ledgers(folder, intents)
        final = _stage_jobs(folder, plan)
    except BaseException:
        # No file was touched yet. Old ledgers would hide what is staged from the next run, so they come last: if
        # something staged stays, or the disk does not even take them, the true intents stay, by which it is found.
        with suppress(TfgenError), _without_staged_ledgers(folder):
            _unstage(folder, plan)
            old = [stage(lambda job: job.before, at) for at in touched]  # no new process: one that died may be why
            folder.sync_staged(len(touched))
            _put_ledgers(folder, old)
        raise
    try:
        for _ in map_items(partial(_replace, folder, plan), plan.jobs.which(*_WRITES)):
            pass
        removed = plan.jobs.changes(FileAction.REMOVE)
        folder.remove({change.path: change.digest for change in changes} for changes in removed)
        folder.prune(change.path for changes in plan.jobs.changes(*_ENDS) for change in changes)
        changed = (change.path for changes in plan.jobs.changes(*_WRITES, *_ENDS) for change in changes)
        folder.sync_folders(changed, plan.jobs.count(*_WRITES, *_ENDS))
        _put_ledgers(folder, final)
    except BaseException:
        with suppress(TfgenError):
            _unstage(folder, plan)
        raise


# -- the files -----------------------------------------------------------------------------------------------------


def _stage_jobs(folder: OutputFolder, plan: WritePlan) -> list[_StagedLedger]:
    """Stages all files and the final ledgers, and gives these."""
    number = max(plan.jobs.count(*_WRITES), len(plan.jobs.undone))
    final: list[_StagedLedger] = []
    unsynced = 0
    with closing(map_items(partial(_stage, folder, plan, number), plan.jobs.undone)) as staged:
        for at, ledger in zip(plan.jobs.undone, staged, strict=True):
            final.append(ledger)
            unsynced += sum(plan.jobs.counts[at].get(action, 0) for action in _WRITES)
            if unsynced >= _SYNC_EVERY:
                folder.sync_staged(number)
                unsynced = 0
    folder.sync_staged(number)
    return final


def _stage(folder: OutputFolder, plan: WritePlan, number: int, at: int) -> _StagedLedger:
    """Stages the files of the job at a place of the plan, and its final ledger."""
    job = plan.jobs[at]
    changes = plan.jobs.changes_of(at, _WRITES)
    replaced = [change.path for change in changes if change.action is FileAction.CHANGE]
    folder.stage({change.path: change.text or "" for change in changes}, number, replaced=replaced)
    return _stage_ledger(folder, number, job, job.after)


def _replace(folder: OutputFolder, plan: WritePlan, at: int) -> None:
    changes = plan.jobs.changes_of(at, _WRITES)
    folder.replace({change.path: change.digest for change in changes})


def _unstage(folder: OutputFolder, plan: WritePlan) -> None:
    """Removes what is staged. Raises TfgenError where the disk does not let go of some."""
    with _without_staged_ledgers(folder):
        folder.unstage([change.path for change in changes] for changes in plan.jobs.changes(*_WRITES))


# -- the ledgers ---------------------------------------------------------------------------------------------------


class _StagedLedger(NamedTuple):
    """A ledger that is staged, or that is to go.

    Attributes:
        path: its path.
        is_removed: whether there is to be none.
    """

    path: str
    is_removed: bool


def _stage_ledger(folder: OutputFolder, number: int, job: JobPlan, ledger: Ledger | None) -> _StagedLedger:
    """Stages a ledger of a job; None stands for no ledger."""
    path = ledger_path(job.rendering.job)
    if ledger:
        folder.stage({path: ledger.to_text()}, number)
    return _StagedLedger(path, ledger is None)


def _put_ledgers(folder: OutputFolder, ledgers: Sequence[_StagedLedger]) -> None:
    """Puts them in their places. They need no look at what is there: the lock guards them."""
    folder.put(ledger.path for ledger in ledgers if not ledger.is_removed)
    folder.discard(ledger.path for ledger in ledgers if ledger.is_removed)
    folder.sync_folders((ledger.path for ledger in ledgers), len(ledgers))


@contextmanager
def _without_staged_ledgers(folder: OutputFolder) -> Iterator[None]:
    """Removes all that is staged beside the ledgers after the block. It is ours: the folder is locked."""
    try:
        yield
    finally:
        folder.discard(folder.temporary_files(LEDGER_FOLDER))
