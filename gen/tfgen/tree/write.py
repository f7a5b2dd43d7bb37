"""Writes the files of many jobs below one output folder: all of them, or none.

    plan = plan_write(Path("."), [Rendering("dist-mnist", tree, input_digest)])
    apply(plan)     # raises ConflictsError if anything of the user's would be lost

The order on disk is what makes a kill at any moment harmless: each job's ledger is first replaced by its intent
(old and new digests), then all new files are staged, and the ledgers in the end with them; then the files are put in
their places and old ones removed, and then the ledgers. Each step is on the medium before the next begins, so that this
holds for a power cut too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
from tfgen.tree.plan import ConflictsError, FileAction, JobPlan, WritePlan
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import Held, Put
from tfgen.tree.write_plan import plan_jobs
from tfgen.workers import map_items

LOCK_WAIT_S = 30.0
"""How long to wait for another tfgen at work in the same folder."""
_SYNC_EVERY = 100
"""Jobs that are staged from one sync of the machine to the next: the disk is at work while more are staged.

Seen on ext4 for 1,000 jobs of 65 files, with two processes: 2.3 s with one sync in the end, 2.0 s with ten.
"""


def read_ledgers(out: Path) -> Ledgers:
    """Those of all jobs below `out`. Raises TfgenError that names every file that is no ledger."""
    with _reading(out) as folder:
        return Ledgers(folder)


def find_unchanged(out: Path, ledgers: Mapping[str, str]) -> set[str]:
    """The jobs of which all is on disk as it was.

    Args:
        out: The output folder.
        ledgers: The digest that the text of each job's ledger had.

    Raises:
        TfgenError: The disk cannot be read.
    """
    with _reading(out) as folder:
        jobs = {job_of(name) for name in folder.names(LEDGER_FOLDER)}
        return {job for job, digest in ledgers.items() if job in jobs and _is_unchanged(folder, job, digest)}


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
    upgrade: bool = True,
    put: Put = Held,
) -> WritePlan:
    """What `apply` will do; reads the disk, and writes nothing below it.

    Args:
        out: The output folder.
        renderings: What is to be there, each job whole. They are gone through one by one, some times.
        done: The names of jobs that are on disk as their ledgers say, so that nothing was rendered of them.
        force: Write over what the user edited.
        upgrade: Write anew what only this version of tfgen, or other defaults, change (`Ledger.stays`).
        put: Where the plans of the jobs wait.

    Raises:
        FileTreeError: Two renderings have one path.
        TfgenError: The disk, or a ledger, cannot be read.
    """
    with _reading(out) as folder:
        return plan_jobs(folder, renderings, done=done, force=force, upgrade=upgrade, put=put)


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
            plan = plan_jobs(
                folder, plan.renderings, done=plan.done, force=plan.force, upgrade=plan.upgrade, put=plan.put
            )
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
    touched = plan.which(*_WRITES, *_ENDS)
    folder.discard(plan.leftovers)
    try:
        _overwrite_ledgers(folder, plan, touched, JobPlan.intent)
        staged = _stage_jobs(folder, plan)
    except BaseException:
        # No file was touched yet. If something staged stays, or the disk does not even take the old ledgers, the
        # intents stay: they are true, and by them the next run finds it.
        with suppress(TfgenError):
            _unstage(folder, plan)
            _overwrite_ledgers(folder, plan, touched, lambda job: job.before)
        raise
    try:
        for _ in map_items(partial(_replace, folder, plan), plan.which(*_WRITES)):
            pass
        folder.remove({change.path: change.digest for change in changes} for changes in plan.changes(FileAction.REMOVE))
        folder.prune(change.path for changes in plan.changes(*_ENDS) for change in changes)
        changed = (change.path for changes in plan.changes(*_WRITES, *_ENDS) for change in changes)
        folder.sync_folders(changed, plan.count(*_WRITES, *_ENDS))
        _put_ledgers(folder, staged)
    except BaseException:
        with suppress(TfgenError):
            _unstage(folder, plan)
        raise


def _stage_jobs(folder: OutputFolder, plan: WritePlan) -> list[_StagedLedger]:
    """Stages all files, and the ledgers in the end."""
    writes, ledgers = plan.count(*_WRITES), len(plan.undone)
    staged = []
    with closing(map_items(partial(_stage, folder, plan, writes, ledgers), plan.undone)) as jobs:
        for ledger in jobs:
            staged.append(ledger)
            if len(staged) % _SYNC_EVERY == 0:
                folder.sync_staged(max(writes, ledgers))
    folder.sync_staged(max(writes, ledgers))
    return staged


def _stage(folder: OutputFolder, plan: WritePlan, writes: int, ledgers: int, at: int) -> _StagedLedger:
    """Stages the files of the job at a place of the plan, and its ledger in the end."""
    job = plan.jobs[at]
    changes = job.changes_by(_WRITES, plan.repeated_by(at))
    replaced = [change.path for change in changes if change.action is FileAction.CHANGE]
    folder.stage({change.path: change.text or "" for change in changes}, writes, replaced=replaced)
    return _stage_ledger(folder, ledgers, job, job.after)


def _unstage(folder: OutputFolder, plan: WritePlan) -> None:
    """Removes what is staged. Raises TfgenError where the disk does not let go of some."""
    folder.unstage([change.path for change in changes] for changes in plan.changes(*_WRITES))
    folder.discard(folder.temporary_files(LEDGER_FOLDER))  # all there are ours: the folder is locked


def _replace(folder: OutputFolder, plan: WritePlan, at: int) -> None:
    changes = plan.jobs[at].changes_by(_WRITES, plan.repeated_by(at))
    folder.replace({change.path: change.digest for change in changes})


class _StagedLedger(NamedTuple):
    """A ledger that is staged, or that is to go.

    Attributes:
        path: its path.
        goes: whether there is to be none.
    """

    path: str
    goes: bool


def _overwrite_ledgers(
    folder: OutputFolder, plan: WritePlan, places: Sequence[int], ledger: Callable[[JobPlan], Ledger | None]
) -> None:
    """Gives the jobs at some places of a plan other ledgers; None for no ledger."""

    def stage(at: int) -> _StagedLedger:
        job = plan.jobs[at]
        return _stage_ledger(folder, len(places), job, ledger(job))

    staged = [*map_items(stage, places)]
    folder.sync_staged(len(places))
    _put_ledgers(folder, staged)


def _stage_ledger(folder: OutputFolder, ledgers: int, job: JobPlan, ledger: Ledger | None) -> _StagedLedger:
    path = ledger_path(job.rendering.job)
    if ledger:
        folder.stage({path: ledger.to_text()}, ledgers)
    return _StagedLedger(path, ledger is None)


def _put_ledgers(folder: OutputFolder, ledgers: Sequence[_StagedLedger]) -> None:
    """Puts them in their places. They need no look at what is there: the lock guards them."""
    paths = [ledger.path for ledger in ledgers]
    removed = [ledger.path for ledger in ledgers if ledger.goes]
    folder.put(ledger.path for ledger in ledgers if not ledger.goes)
    folder.sync_folders(paths, len(paths))
    folder.discard(removed)
