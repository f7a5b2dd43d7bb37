"""Write the files of many jobs below one output folder: all of them or none.

    plan = plan_write(Path("."), [Rendering("dist-mnist", tree, input_digest)])
    apply(plan)     # raises ConflictsError if the write would lose content of the user

The order of the steps makes a kill at any moment harmless. First, the intent of each job (old and new digests) replaces
its ledger. Then tfgen stages all new files and the final ledgers. Then tfgen moves the files to their places, removes
old files, and at last moves the final ledgers. Each step is on the medium before the next step begins, so a loss of
power is harmless too.
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
from tfgen.tree.spool import InMemory, Store
from tfgen.tree.write_plan import plan_jobs
from tfgen.workers import MANY_SMALL, map_items

LOCK_WAIT_S = 30.0
"""Maximum time in seconds to wait for another tfgen process in the same folder."""
_SYNC_EVERY = 5_000
"""Number of staged files between two syncs of the machine. The disk writes while other processes stage more files.

Measured on ext4 for 65,000 files: 2.3 s with one sync at the end and 2.0 s with ten, in two processes; one process
takes 2 % longer with ten.
"""


def read_ledgers(out: Path) -> Ledgers:
    """Read the ledgers of all jobs below a folder. Raises TfgenError with the name of every invalid ledger."""
    with _reading(out) as folder:
        return Ledgers(folder)


def find_unchanged(out: Path, ledgers: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the jobs whose files and ledgers on disk are unchanged, with the digests of the ledgers.

    Args:
        out: The output folder.
        ledgers: Jobs, each with the earlier digest of the text of its ledger.

    Raises:
        TfgenError: The disk cannot be read.
    """
    with _reading(out) as folder:
        jobs = {job_of(name) for name in folder.names(LEDGER_FOLDER)}
        return {(job, digest) for job, digest in ledgers if job in jobs and _is_unchanged(folder, job, digest)}


def digest_of_ledger(out: Path, rendering: Rendering) -> str:
    """Return the digest of a job's ledger after a write of the rendering."""
    with OutputFolder(out) as folder:
        try:
            before = parse_ledger(rendering.job, folder.read_text(ledger_path(rendering.job), LEDGER_READ))
        except TfgenError:  # no ledger, or an invalid one, which `plan_write` reports
            before = None
    return digest_of(rendering.following(before).ledger(__version__).to_text())


def _is_unchanged(folder: OutputFolder, job: str, digest: str) -> bool:
    """Return whether all files of a job and its ledger are unchanged."""
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
    store: Store = InMemory,
) -> WritePlan:
    """Plan a write. The function reads the disk and writes nothing below the output folder.

    Args:
        out: The output folder.
        renderings: The files of each job. The plan reads the sequence several times, one rendering after the other.
        done: The names of jobs whose files on disk match their ledgers, so that they were not rendered.
        force: Whether to replace files that the user edited.
        find_committed: Returns the jobs that keep their files although this version of tfgen, or other defaults, would
            write them differently (`Ledger.stays`).
        store: Stores the plan of each job.

    Raises:
        FileTreeError: Two renderings have the same path.
        TfgenError: The disk or a ledger cannot be read.
    """
    request = WriteRequest(out, renderings, done, force, find_committed, store)
    with _reading(out) as folder:
        return plan_jobs(folder, request)


def apply(plan: WritePlan) -> WritePlan:
    """Carry out a plan, and return the plan that was carried out.

    If another tfgen process changed a ledger since the plan, tfgen plans the write again.

    Raises:
        ConflictsError: The write would lose content of the user. Nothing was written.
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
def _reading(out: Path) -> Iterator[OutputFolder]:
    """Lock the folder against writers for the block. A partial render would look like an edit of the user."""
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
        # No file has changed yet. The old ledgers would hide staged files from the next run, so they are restored last.
        # If staged files remain, or the disk refuses the old ledgers, the next run finds the files by the intents.
        with suppress(TfgenError), _without_staged_ledgers(folder):
            _unstage(folder, plan)
            # No new process: a process that died may be the cause.
            old = [stage(lambda job: job.before, at) for at in touched]
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
    """Stage all files and the final ledgers, and return the ledgers."""
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
    """Stage the files and the final ledger of one job of the plan."""
    job = plan.jobs[at]
    changes = plan.jobs.changes_of(at, _WRITES)
    replaced = [change.path for change in changes if change.action is FileAction.CHANGE]
    folder.stage({change.path: change.text or "" for change in changes}, number, replaced=replaced)
    return _stage_ledger(folder, number, job, job.after)


def _replace(folder: OutputFolder, plan: WritePlan, at: int) -> None:
    changes = plan.jobs.changes_of(at, _WRITES)
    folder.replace({change.path: change.digest for change in changes})


def _unstage(folder: OutputFolder, plan: WritePlan) -> None:
    """Remove the staged files. Raises TfgenError if the disk refuses to remove some of them."""
    with _without_staged_ledgers(folder):
        folder.unstage([change.path for change in changes] for changes in plan.jobs.changes(*_WRITES))


# -- the ledgers ---------------------------------------------------------------------------------------------------


class _StagedLedger(NamedTuple):
    """A staged ledger, or a ledger that is to be removed.

    Attributes:
        path: the path of the ledger.
        is_removed: whether the write removes the ledger.
    """

    path: str
    is_removed: bool


def _stage_ledger(folder: OutputFolder, number: int, job: JobPlan, ledger: Ledger | None) -> _StagedLedger:
    """Stage a ledger of a job. Without a ledger, the result marks the path for removal."""
    path = ledger_path(job.rendering.job)
    if ledger:
        folder.stage({path: ledger.to_text()}, number)
    return _StagedLedger(path, ledger is None)


def _put_ledgers(folder: OutputFolder, ledgers: Sequence[_StagedLedger]) -> None:
    """Move staged ledgers to their paths and remove the others.

    The lock makes a check of the existing files unnecessary.
    """
    folder.move(ledger.path for ledger in ledgers if not ledger.is_removed)
    folder.discard(ledger.path for ledger in ledgers if ledger.is_removed)
    folder.sync_folders((ledger.path for ledger in ledgers), len(ledgers))


@contextmanager
def _without_staged_ledgers(folder: OutputFolder) -> Iterator[None]:
    """Remove all staged files in the ledger folder after the block.

    The lock ensures that no other process needs them.
    """
    try:
        yield
    finally:
        folder.discard(folder.temporary_files(LEDGER_FOLDER))
