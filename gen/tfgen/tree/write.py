"""Write the files of many jobs below one output folder, completely or not at all.

    plan = plan_write(Path("."), [Rendering("dist-mnist", tree, input_digest)])
    apply(plan)     # raises ConflictsError if the write would delete content of the user

The order of the steps makes it harmless if tfgen is killed at any moment:

1. Replace the ledger of each job by an intent: a ledger that lists the old and the new digests.
2. Stage all new files and the final ledgers.
3. Move the staged files to their final paths, and remove old files.
4. Move the final ledgers to their final paths.

Each step is synced to the disk before the next step begins, so a power failure is harmless too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tfgen import __version__
from tfgen.errors import TfgenError
from tfgen.git.tree import DISK, Tree
from tfgen.tree.file_tree import digest_of
from tfgen.tree.git_folder import GitFolder, ReadableFolder, open_folder
from tfgen.tree.ledger import LEDGER_FOLDER, LEDGER_READ, Ledger, job_of, ledger_path, parse_ledger
from tfgen.tree.ledgers import Ledgers
from tfgen.tree.output_folder import OutputFolder
from tfgen.tree.plan import (
    ConflictsError,
    FileAction,
    FindCommitted,
    HasJob,
    JobPlan,
    WritePlan,
    WriteRequest,
    no_file_has_job,
    nothing_committed,
)
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import InMemory, Store
from tfgen.tree.write_plan import plan_jobs
from tfgen.workers import MANY_SMALL, map_items

LOCK_WAIT_S = 30.0
"""Maximum time in seconds to wait for another tfgen process in the same folder."""
_SYNC_EVERY = 5_000
"""Number of staged files between two calls of sync. During a call, other processes stage more files.

Measured on ext4 for 65,000 files in two processes: 2.3 s with one call of sync at the end, and 2.0 s with ten calls. A
single process takes 2 % longer with ten calls.
"""


def read_ledgers(out: Path, tree: Tree = DISK) -> Ledgers:
    """Read the ledgers of all jobs below an output folder, in a version of the repository.

    Raises:
        TfgenError: Ledgers are invalid. The message names every invalid ledger.
    """
    with _reading(out, tree) as folder:
        return Ledgers(folder, tree)


def find_unchanged(out: Path, ledgers: Collection[tuple[str, str]], tree: Tree = DISK) -> set[tuple[str, str]]:
    """Return the items of `ledgers` whose job is unchanged in a tree: the ledger and all rendered files of the job.

    Args:
        out: The output folder.
        ledgers: The name of each job, and the earlier digest of the job's ledger. Example: {("mnist", "9b74c989...")}.
        tree: The version of the repository.

    Raises:
        TfgenError: The disk cannot be read.
    """
    with _reading(out, tree) as folder:
        jobs = {job_of(name) for name in folder.names(LEDGER_FOLDER)}
        return {(job, digest) for job, digest in ledgers if job in jobs and _is_unchanged(folder, job, digest)}


def digest_of_ledger(out: Path, rendering: Rendering, tree: Tree = DISK) -> str:
    """Return the digest that the ledger of a job will have after a write of the rendering."""
    with open_folder(out, tree) as folder:
        try:
            before = parse_ledger(rendering.job, folder.read_text(ledger_path(rendering.job), LEDGER_READ))
        except TfgenError:  # no ledger, or an invalid one, which `plan_write` reports
            before = None
    return digest_of(rendering.with_revision_number(before).ledger(__version__).to_text())


def _is_unchanged(folder: ReadableFolder, job: str, digest: str) -> bool:
    """Return whether the ledger of a job still has the given digest, and all files on disk match the ledger."""
    text = folder.read_text(ledger_path(job), LEDGER_READ)
    if digest_of(text) != digest:
        return False
    files = parse_ledger(job, text).files
    on_disk = folder.states(files)
    return all(on_disk[path].digest == files[path] for path in files)


def plan_write(
    out: Path,
    renderings: Sequence[Rendering],
    *,
    done: Collection[str] = (),
    force: bool = False,
    find_committed: FindCommitted = nothing_committed,
    has_job: HasJob = no_file_has_job,
    store: Store = InMemory,
    tree: Tree = DISK,
) -> WritePlan:
    """Plan a write. The function reads the disk and writes nothing below the output folder.

    Args:
        out: The output folder.
        renderings: The files of each job. The plan reads the sequence several times, one rendering after the other.
        done: The names of the jobs that were not rendered, because their files on disk match their ledgers.
        force: Whether to replace files that the user edited.
        find_committed: Function that returns the names of the jobs whose rendered files are committed in git. tfgen
            does not write such a job if only the version of tfgen or the defaults changed.
        has_job: Function that tests whether the job file that a ledger names still has the job. If so, the ledger is a
            conflict for a rendering of another job file.
        store: Function that stores the plan of a job.
        tree: The version of the files with which the plan compares. A write needs the files on disk.

    Raises:
        FileTreeError: Two renderings have the same path.
        TfgenError: The disk or a ledger cannot be read.
    """
    request = WriteRequest(out, renderings, done, force, find_committed, has_job, store, tree)
    with _reading(out, tree) as folder:
        return plan_jobs(folder, request)


def apply(plan: WritePlan) -> WritePlan:
    """Write the files of a plan, and return the plan.

    If another tfgen process changed a ledger after the plan was made, tfgen plans the write again and returns the new
    plan.

    Raises:
        ConflictsError: The write would delete content of the user. Nothing was written.
        TfgenError: The disk failed, a file changed meanwhile, or another tfgen process locked the folder for
            LOCK_WAIT_S seconds. The next run repairs a partial write.
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
def _reading(out: Path, tree: Tree) -> Iterator[ReadableFolder]:
    """Open an output folder for reading. A lock prevents other tfgen processes from writing in the meantime."""
    if tree is not DISK:
        yield GitFolder(out, tree)
        return
    with OutputFolder(out) as folder, folder.locked(LEDGER_FOLDER, LOCK_WAIT_S, shared=True):
        yield folder


_WRITES = (FileAction.CREATE, FileAction.CHANGE)
_ENDS = (FileAction.REMOVE, FileAction.FORGET)


def _write(folder: OutputFolder, plan: WritePlan) -> None:
    touched = plan.jobs.indices_with_any(*_WRITES, *_ENDS)

    def stage(ledger_of: Callable[[JobPlan], Ledger | None], at: int) -> _StagedLedger:
        job = plan.jobs[at]
        return _stage_ledger(folder, len(touched), job, ledger_of(job))

    folder.discard(plan.leftovers)
    try:
        intents = [*map_items(partial(stage, JobPlan.intent), touched, many=MANY_SMALL)]
        folder.sync_staged(len(touched))
        _move_ledgers(folder, intents)
        final = _stage_jobs(folder, plan)
    except BaseException:
        # No file has changed yet. The old ledgers would hide staged files from the next run, so they are restored last.
        # If staged files remain, or the disk refuses the old ledgers, the next run finds the files by the intents.
        with suppress(TfgenError), _without_staged_ledgers(folder):
            _unstage(folder, plan)
            # This process restores all ledgers, because the death of a worker process may be the cause of the error.
            old = [stage(lambda job: job.before, at) for at in touched]
            folder.sync_staged(len(touched))
            _move_ledgers(folder, old)
        raise
    try:
        for _ in map_items(partial(_replace, folder, plan), plan.jobs.indices_with_any(*_WRITES)):
            pass
        removed = plan.jobs.changes(FileAction.REMOVE)
        folder.remove({change.path: change.digest for change in changes} for changes in removed)
        folder.prune(change.path for changes in plan.jobs.changes(*_ENDS) for change in changes)
        changed = (change.path for changes in plan.jobs.changes(*_WRITES, *_ENDS) for change in changes)
        folder.sync_folders(changed, plan.jobs.count(*_WRITES, *_ENDS))
        _move_ledgers(folder, final)
    except BaseException:
        with suppress(TfgenError):
            _unstage(folder, plan)
        raise


# -- the files -----------------------------------------------------------------------------------------------------


def _stage_jobs(folder: OutputFolder, plan: WritePlan) -> list[_StagedLedger]:
    """Stage all new files and the final ledgers, and return the staged ledgers."""
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
    """Stage the files and the ledger of one job, and return the staged ledger.

    `at` is the index of the job in the plan. `number` is an upper limit for the number of files that the whole plan
    stages.
    """
    job = plan.jobs[at]
    changes = plan.jobs.changes_of(at, _WRITES)
    replaced = [change.path for change in changes if change.action is FileAction.CHANGE]
    folder.stage({change.path: change.text or "" for change in changes}, number, replaced=replaced)
    return _stage_ledger(folder, number, job, job.after)


def _replace(folder: OutputFolder, plan: WritePlan, at: int) -> None:
    changes = plan.jobs.changes_of(at, _WRITES)
    folder.replace({change.path: change.digest for change in changes})


def _unstage(folder: OutputFolder, plan: WritePlan) -> None:
    """Remove all staged files of a plan.

    Raises:
        TfgenError: The disk refuses to remove some staged files.
    """
    with _without_staged_ledgers(folder):
        folder.unstage([change.path for change in changes] for changes in plan.jobs.changes(*_WRITES))


# -- the ledgers ---------------------------------------------------------------------------------------------------


class _StagedLedger(NamedTuple):
    """A ledger that tfgen has staged, or a ledger that tfgen will remove.

    Attributes:
        path: the path of the ledger.
        is_removed: whether the write removes the ledger.
    """

    path: str
    is_removed: bool


def _stage_ledger(folder: OutputFolder, number: int, job: JobPlan, ledger: Ledger | None) -> _StagedLedger:
    """Stage `ledger`, the new ledger of a job. If `ledger` is None, mark the existing ledger for removal."""
    path = ledger_path(job.rendering.job)
    if ledger:
        folder.stage({path: ledger.to_text()}, number)
    return _StagedLedger(path, ledger is None)


def _move_ledgers(folder: OutputFolder, ledgers: Sequence[_StagedLedger]) -> None:
    """Move the staged ledgers to their final paths, and remove the ledgers that are marked for removal.

    The existing ledgers need no check, because the folder is locked.
    """
    folder.move(ledger.path for ledger in ledgers if not ledger.is_removed)
    folder.discard(ledger.path for ledger in ledgers if ledger.is_removed)
    folder.sync_folders((ledger.path for ledger in ledgers), len(ledgers))


@contextmanager
def _without_staged_ledgers(folder: OutputFolder) -> Iterator[None]:
    """Remove all staged files in the ledger folder after the block.

    The folder is locked, so no other process needs the staged files.
    """
    try:
        yield
    finally:
        folder.discard(folder.temporary_files(LEDGER_FOLDER))
