"""Write the files of many jobs below one output folder, completely or not at all.

    plan = plan_write(WriteRequest(Path("."), [Rendering("dist-mnist", tree, input_digest)]))
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

from tfgen.errors import TfgenError
from tfgen.git.tree import DISK, Tree
from tfgen.tree.files import digest_of
from tfgen.tree.folder import GitFolder, OutputFolder, ReadableFolder, open_tree
from tfgen.tree.ledger import LEDGER_FOLDER, LEDGER_READ, Ledgers, job_of, ledger_path, parse_ledger
from tfgen.tree.plan import ConflictsError, FileAction, WritePlan, WriteRequest, plan_jobs
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
        unchanged = set()
        for job, digest in ledgers:
            if job not in jobs or digest_of(text := folder.read_text(ledger_path(job), LEDGER_READ)) != digest:
                continue
            files = parse_ledger(job, text).files
            on_disk = folder.states(files)
            if all(on_disk[path].digest == files[path] for path in files):
                unchanged.add((job, digest))
        return unchanged


def digest_of_ledger(out: Path, rendering: Rendering, tree: Tree = DISK) -> str:
    """Return the digest that the ledger of a job will have after a write of the rendering."""
    with open_tree(out, tree) as folder:
        try:
            before = parse_ledger(rendering.job, folder.read_text(ledger_path(rendering.job), LEDGER_READ))
        except TfgenError:  # no ledger, or an invalid one, which `plan_write` reports
            before = None
    return digest_of(rendering.with_revision_number(before).ledger().to_text())


def plan_write(request: WriteRequest) -> WritePlan:
    """Plan a write. The function reads the disk and writes nothing below the output folder.

    Raises:
        FileTreeError: Two renderings have the same path.
        TfgenError: The disk or a ledger cannot be read.
    """
    with _reading(request.out, request.tree) as folder:
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
        with OutputFolder(plan.out) as folder, folder.locked():
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
    with OutputFolder(out) as folder, folder.locked(shared=True):
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
        self._undone = [at for at, job in enumerate(plan.jobs) if not job.is_done]
        self._number = len(self._undone) + sum(
            job.counts.get(action, 0) for job in plan.jobs for action in (*_WRITES, *_ENDS)
        )

    def run(self) -> None:
        """Write the files and the ledgers. Before a file has changed, an error restores the old ledgers."""
        folder, plan = self._folder, self._plan
        folder.discard(folder.abandoned())
        for _ in map_items(self._stage, self._undone):
            pass
        folder.sync_files((), self._number)
        touched = [job.name for job in plan.jobs if job.has(*_WRITES, *_ENDS)]
        written = [at for at, job in enumerate(plan.jobs) if job.has(*_WRITES)]
        new_folders: set[str] = set()
        try:
            self._move_ledgers(_INTENTS, touched)
            for at in written:
                new_folders |= folder.prepare({c.path: c.before for c in plan.jobs[at].changes(*_WRITES)})
        except BaseException:
            with suppress(TfgenError):
                self._move_ledgers(_OLD, touched)
                folder.prune(change.path for change in plan.changes(*_WRITES))
            raise
        for _ in map_items(partial(self._replace, new_folders), written):
            pass
        for job in plan.jobs:
            folder.remove({change.path: change.before for change in job.changes(FileAction.REMOVE)})
        folder.prune(change.path for change in plan.changes(*_ENDS))
        folder.sync_folders((change.path for change in plan.changes(*_WRITES, *_ENDS)), self._number)
        self._move_ledgers(_FINAL, [plan.jobs[at].name for at in self._undone])

    def _place(self, at: int, rendering: Rendering) -> str:
        """Return the folder with the staged files of a job. `at` is the index of the job in the plan."""
        return f"{self._base}/{rendering.place if self._staged_before and rendering.place else at}"

    def _stage(self, at: int) -> None:
        """Stage the files and ledgers of one job that are not staged yet. `at` is the index of the job in the plan."""
        planned = self._plan.jobs[at]
        job = planned.plan
        rendering = job.rendering
        place = self._place(at, rendering)
        texts: dict[str, str] = {}
        staged: list[str] = []
        for change in planned.changes(*_WRITES):
            path = f"{place}/{change.path}"
            # The staged text has the number 0.
            has_number = bool(rendering.number and rendering.revision and rendering.revision.path == change.path)
            if has_number:
                self._folder.discard([path])
            if has_number or not (self._folder.path / path).exists():
                texts[path] = job.text(change.path)
            else:
                staged.append(path)
        for name, ledger in ((_OLD, job.before), (_INTENTS, job.intent()), (_FINAL, job.after)):
            if ledger and (name == _FINAL or planned.has(*_WRITES, *_ENDS)):
                texts[f"{self._base}/{name}/{_file_of(rendering.job)}"] = ledger.to_text()
        self._folder.write(texts)
        self._folder.sync_files((*texts, *staged), self._number)

    def _replace(self, new_folders: Set[str], at: int) -> None:
        job = self._plan.jobs[at]
        digests = {change.path: change.before for change in job.changes(*_WRITES)}
        self._folder.replace(self._place(at, job.plan.rendering), digests, new_folders)

    def _move_ledgers(self, name: str, jobs: Sequence[str]) -> None:
        """Replace the ledgers of jobs by staged ledgers, and remove each ledger without a staged ledger.

        The existing ledgers need no check, because the folder is locked.
        """
        staged = f"{self._base}/{name}"
        files = {*map(_file_of, jobs)}
        present = files.intersection(self._folder.names(staged))
        if present:
            self._folder.move(staged, LEDGER_FOLDER, sorted(present))
        self._folder.discard(f"{LEDGER_FOLDER}/{file}" for file in files - present)
        self._folder.sync_folders([f"{LEDGER_FOLDER}/{file}" for file in files], len(files))


def _file_of(job: str) -> str:
    return ledger_path(job).rpartition("/")[2]
