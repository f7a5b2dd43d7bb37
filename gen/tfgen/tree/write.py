"""Write the files of many jobs below one output folder, completely or not at all.

    plan = plan_write(Path("."), [Rendering("dist-mnist", tree, input_digest)])
    apply(plan)     # raises ConflictsError if the write would delete content of the user

The order of the steps makes it harmless if tfgen is killed at any moment:

1. Write all new files and ledgers to the staging folder.
2. Replace the ledger of each job by an intent: a ledger that lists the old and the new digests.
3. Rename the staged files to their final paths, and remove old files.
4. Rename the final ledgers to their final paths.

Each step is synced to the disk before the next step begins, so a power failure is harmless too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from tfgen import __version__
from tfgen.errors import TfgenError
from tfgen.git.tree import DISK, Tree
from tfgen.tree.files import digest_of
from tfgen.tree.folder import GitFolder, OutputFolder, ReadableFolder, open_tree
from tfgen.tree.ledger import LEDGER_FOLDER, LEDGER_READ, Ledgers, job_of, ledger_path, parse_ledger
from tfgen.tree.plan import (
    ConflictsError,
    FileAction,
    FindCommitted,
    HasJob,
    WritePlan,
    WriteRequest,
    no_file_has_job,
    nothing_committed,
    plan_jobs,
)
from tfgen.tree.staging import Rendering, Staging
from tfgen.workers import map_items


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
    with open_tree(out, tree) as folder:
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
    staging: Staging | None = None,
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
        staging: The staging folder of the renderings, which also stores the plan of each job.
        tree: The version of the files with which the plan compares. A write needs the files on disk.

    Raises:
        FileTreeError: Two renderings have the same path.
        TfgenError: The disk or a ledger cannot be read.
    """
    request = WriteRequest(out, renderings, done, force, find_committed, has_job, staging, tree)
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
    with Staging(plan.out, is_inside=True) as own:
        of_plan = plan.request.staging
        staging = of_plan if of_plan and of_plan.place and of_plan.out == plan.out else own
        staging.begin_inside()
        with OutputFolder(plan.out) as folder, folder.locked(LEDGER_FOLDER):
            if Ledgers(folder) != plan.ledgers:
                plan = plan_jobs(folder, plan.request)
                if plan.conflicts:
                    raise ConflictsError(plan.conflicts)
            _Write(folder, staging, plan).run()
    return plan


@contextmanager
def _reading(out: Path, tree: Tree) -> Iterator[ReadableFolder]:
    """Open an output folder for reading. A lock prevents other tfgen processes from writing in the meantime."""
    if tree is not DISK:
        yield GitFolder(out, tree)
        return
    with OutputFolder(out) as folder, folder.locked(LEDGER_FOLDER, shared=True):
        yield folder


_WRITES: Final = (FileAction.CREATE, FileAction.CHANGE)
_ENDS: Final = (FileAction.REMOVE, FileAction.FORGET)
_INTENTS: Final = "intents"
_FINAL: Final = "final"
_OLD: Final = "old"


class _Write:
    """One write of a plan to the locked output folder.

    Args:
        folder: the output folder.
        staging: the staging folder inside of the output folder. If the files of the plan are staged elsewhere, or are
            in memory, the write stages the files here.
        plan: the plan without conflicts.
    """

    def __init__(self, folder: OutputFolder, staging: Staging, plan: WritePlan) -> None:
        self._folder = folder
        self._plan = plan
        self._staged_before = plan.request.staging is staging
        self._base = staging.place
        self._touched = frozenset(plan.jobs.indices_with_any(*_WRITES, *_ENDS))
        self._number = plan.jobs.count(*_WRITES, *_ENDS) + len(plan.jobs.undone)

    def run(self) -> None:
        """Write the files and the ledgers. Before a file has changed, an error restores the old ledgers."""
        folder, jobs = self._folder, self._plan.jobs
        folder.discard(folder.abandoned(LEDGER_FOLDER))
        for _ in map_items(self._stage, jobs.undone):
            pass
        folder.sync_files((), self._number)
        written = jobs.indices_with_any(*_WRITES)
        new_folders: set[str] = set()
        try:
            self._move_ledgers(_INTENTS, self._touched)
            for at in written:
                new_folders |= folder.prepare({c.path: c.digest for c in jobs.changes_of(at, _WRITES)})
        except BaseException:
            with suppress(TfgenError):
                self._move_ledgers(_OLD, self._touched)
                folder.prune(change.path for changes in jobs.changes(*_WRITES) for change in changes)
            raise
        for _ in map_items(partial(self._replace, new_folders), written):
            pass
        removed = jobs.changes(FileAction.REMOVE)
        folder.remove({change.path: change.digest for change in changes} for changes in removed)
        folder.prune(change.path for changes in jobs.changes(*_ENDS) for change in changes)
        changed = (change.path for changes in jobs.changes(*_WRITES, *_ENDS) for change in changes)
        folder.sync_folders(changed, self._number)
        self._move_ledgers(_FINAL, jobs.undone)

    def _place(self, at: int, rendering: Rendering) -> str:
        """Return the folder with the staged files of a job. `at` is the index of the job in the plan."""
        return f"{self._base}/{rendering.place if self._staged_before and rendering.place else at}"

    def _stage(self, at: int) -> None:
        """Stage the files and ledgers of one job that are not staged yet. `at` is the index of the job in the plan."""
        job = self._plan.jobs[at]
        rendering = job.rendering
        place = self._place(at, rendering)
        texts: dict[str, str] = {}
        staged: list[str] = []
        for change in job.changes_by(_WRITES, self._plan.jobs.repeated.get(at, frozenset())):
            path = f"{place}/{change.path}"
            # The staged text has the number 0.
            has_number = bool(rendering.number and rendering.revision and rendering.revision.path == change.path)
            if has_number:
                self._folder.discard([path])
            if has_number or not (self._folder.path / path).exists():
                texts[path] = change.text or ""
            else:
                staged.append(path)
        for name, ledger in ((_OLD, job.before), (_INTENTS, job.intent()), (_FINAL, job.after)):
            if ledger and (name == _FINAL or at in self._touched):
                texts[f"{self._base}/{name}/{_file_of(rendering.job)}"] = ledger.to_text()
        self._folder.write(texts)
        self._folder.sync_files((*texts, *staged), self._number)

    def _replace(self, new_folders: Set[str], at: int) -> None:
        digests = {change.path: change.digest for change in self._plan.jobs.changes_of(at, _WRITES)}
        self._folder.replace(self._place(at, self._plan.jobs[at].rendering), digests, new_folders)

    def _move_ledgers(self, name: str, jobs: Collection[int]) -> None:
        """Replace the ledgers of jobs by staged ledgers, and remove each ledger without a staged ledger.

        The existing ledgers need no check, because the folder is locked.
        """
        staged = f"{self._base}/{name}"
        files = {_file_of(self._plan.jobs.names[at]) for at in jobs}
        present = files.intersection(self._folder.names(staged))
        if present:
            self._folder.move(staged, LEDGER_FOLDER, sorted(present))
        self._folder.discard(f"{LEDGER_FOLDER}/{file}" for file in files - present)
        self._folder.sync_folders([f"{LEDGER_FOLDER}/{file}" for file in files], len(files))


def _file_of(job: str) -> str:
    return ledger_path(job).rpartition("/")[2]
