"""Writes the files of many jobs below one output folder: all of them, or none.

    plan = plan_write(Path("."), [Rendering("dist-mnist", tree, input_digest)])
    apply(plan)     # raises ConflictsError if anything of the user's would be lost

The order on disk is what makes a kill at any moment harmless: each job's ledger is first replaced by its intent
(old and new digests), then all new files are staged, put in their places and old ones removed, then the ledgers are
finished. Each step is on the medium before the next begins, so that this holds for a power cut too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tfgen import __version__
from tfgen.errors import TfgenError
from tfgen.tree.file_tree import FileTree, digest_of, path_fault
from tfgen.tree.ledger import LEDGER_FOLDER, LEDGER_READ, Ledger, check_ledger, job_of, ledger_path, parse_ledger
from tfgen.tree.output_folder import OutputFolder
from tfgen.tree.plan import ConflictsError, FileAction, JobPlan, Surroundings, WritePlan, plan_job
from tfgen.tree.rendering import Rendering

LOCK_WAIT_S = 30.0
"""How long to wait for another tfgen at work in the same folder."""
_LOSS_READ = 1 << 20
"""Characters of a user's file that are read to say what of it would be lost."""


def read_ledgers(out: Path) -> dict[str, Ledger]:
    """Job -> ledger, for all jobs below `out`. Raises TfgenError that names every file that is no ledger."""
    with _reading(out) as folder:
        return _ledgers(folder)


def find_unchanged(out: Path, ledgers: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The files of the jobs of which all is on disk as it was, by job.

    Args:
        out: The output folder.
        ledgers: The digest that the text of each job's ledger had.

    Raises:
        TfgenError: The disk cannot be read.
    """
    with _reading(out) as folder:
        jobs = {job_of(name) for name in folder.names(LEDGER_FOLDER)}
        files = {job: _unchanged_files(folder, job, digest) for job, digest in ledgers.items() if job in jobs}
    return {job: paths for job, paths in files.items() if paths is not None}


def _unchanged_files(folder: OutputFolder, job: str, digest: str) -> tuple[str, ...] | None:
    """The files of a job; None where one of them, or the ledger, is not as it was."""
    text = folder.read_text(ledger_path(job), LEDGER_READ)
    if digest_of(text) != digest:
        return None
    files = parse_ledger(job, text).files
    on_disk = folder.survey(files)
    return tuple(files) if all(on_disk[path].digest == files[path] for path in files) else None


def plan_write(out: Path, renderings: Iterable[Rendering], *, force: bool = False, upgrade: bool = True) -> WritePlan:
    """What `apply` will do; reads the disk, and writes nothing.

    Args:
        out: The output folder.
        renderings: What is to be there, each job whole.
        force: Write over what the user edited.
        upgrade: Write anew what only this version of tfgen, or other defaults, change (`Ledger.stays`).

    Raises:
        FileTreeError: Two renderings have one path.
        TfgenError: The disk, or a ledger, cannot be read.
    """
    with _reading(out) as folder:
        return _plan(folder, tuple(renderings), force=force, upgrade=upgrade)


def apply(plan: WritePlan) -> WritePlan:
    """Carries the plan out, and gives the plan that was carried out.

    That is `plan`, unless another tfgen changed a ledger since it was made: it is then made anew.

    Raises:
        ConflictsError: Something of the user's would be lost; nothing was written.
        TfgenError: The disk failed, a file was changed meanwhile, or another tfgen had the folder for
            LOCK_WAIT_S seconds. What was written by then is mended by the next run.
    """
    if plan.conflicts:
        raise ConflictsError(plan.conflicts)
    if plan.is_done():
        return plan
    with OutputFolder(plan.out, create=True) as folder, folder.locked(LEDGER_FOLDER, LOCK_WAIT_S):
        if _ledgers(folder) != plan.ledgers:
            renderings = (*(job.rendering for job in plan.jobs), *plan.kept)
            plan = _plan(folder, renderings, force=plan.force, upgrade=plan.upgrade)
            if plan.conflicts:
                raise ConflictsError(plan.conflicts)
        _write(folder, plan)
    return plan


@contextmanager
def _reading(out: Path) -> Iterator[OutputFolder]:
    """The folder while no tfgen writes to it: half a render would look like a user's edits."""
    with OutputFolder(out) as folder, folder.locked(LEDGER_FOLDER, LOCK_WAIT_S, shared=True):
        yield folder


def _ledgers(folder: OutputFolder) -> dict[str, Ledger]:
    ledgers: dict[str, Ledger] = {}
    faults: list[str] = []
    for name in folder.names(LEDGER_FOLDER):
        if (job := job_of(name)) is not None:
            try:
                ledgers[job] = parse_ledger(job, folder.read_text(ledger_path(job), LEDGER_READ))
            except TfgenError as error:
                faults.append(str(error))
    if faults:
        raise TfgenError("\n".join(faults))
    return ledgers


def _combined(renderings: tuple[Rendering, ...]) -> FileTree:
    """All files; refuses what two jobs cannot both have, their ledgers' names included."""
    names: dict[str, str] = {}
    for job in (rendering.job for rendering in renderings):
        if "/" in job or job.startswith(".") or path_fault(job):
            raise TfgenError(f"{job!r} is no name for a job: its ledger could not be named so")
        if other := names.get(job.casefold()):
            raise TfgenError(f"{job!r} and {other!r} are two jobs with one ledger; give one of them another name")
        names[job.casefold()] = job
    trees = {f"job {rendering.job}": rendering.tree for rendering in renderings}
    return FileTree.combine(trees, shared=frozenset().union(*(rendering.shared for rendering in renderings)))


def _recorded(renderings: tuple[Rendering, ...], ledgers: Mapping[str, Ledger]) -> set[str]:
    """The files that the ledgers of these jobs have."""
    return {path for r in renderings if r.job in ledgers for path in ledgers[r.job].paths()}


def _plan(folder: OutputFolder, renderings: tuple[Rendering, ...], *, force: bool, upgrade: bool) -> WritePlan:
    ledgers = _ledgers(folder)
    kept = () if upgrade else tuple(r for r in renderings if _stays(r, ledgers.get(r.job)))
    renderings = tuple(r for r in renderings if r not in kept)
    wanted = _combined(renderings).files
    on_disk = folder.survey(wanted.keys() | _recorded(renderings, ledgers))

    def read(path: str) -> str:
        return folder.read_text(path, _LOSS_READ)

    around = Surroundings(ledgers, on_disk, _final(renderings, ledgers), read)
    planned = [plan_job(rendering, around, __version__) for rendering in renderings]
    jobs = tuple(job for job, _ in planned)
    for job in jobs:
        check_ledger(job.rendering.job, job.target)
    conflicts = sorted((one for _, some in planned for one in some), key=lambda one: one.path)
    return WritePlan(
        out=folder.path,
        force=force,
        upgrade=upgrade,
        ledgers=ledgers,
        jobs=jobs,
        kept=kept,
        conflicts=tuple(one for one in conflicts if not (force and one.can_force)),
        lost=tuple(one for one in conflicts if force and one.can_force),
        leftovers=_leftovers(folder, jobs),
    )


def _stays(rendering: Rendering, before: Ledger | None) -> bool:
    return before is not None and before.stays(rendering.ledger(__version__))


def _final(renderings: tuple[Rendering, ...], ledgers: Mapping[str, Ledger]) -> Counter[str]:
    """How many jobs have each path, case folded, when all is written."""
    rendered = {rendering.job: rendering.tree.files for rendering in renderings}
    untouched = [ledger.paths() for job, ledger in ledgers.items() if job not in rendered]
    return Counter(path.casefold() for files in (*untouched, *rendered.values()) for path in files)


def _leftovers(folder: OutputFolder, jobs: Iterable[JobPlan]) -> tuple[str, ...]:
    """The temporary files of a killed run: beside ledgers, and beside what its intents name."""
    unfinished = (job.before for job in jobs if job.before and job.before.unfinished is not None)
    folders = {LEDGER_FOLDER, *(path.rpartition("/")[0] for before in unfinished for path in before.files)}
    return tuple(path for name in sorted(folders) for path in folder.temporary_files(name))


def _write(folder: OutputFolder, plan: WritePlan) -> None:
    touched = [job for job in plan.jobs if job.touches_files()]
    writes = {c.path: c for c in plan.changes() if c.action in (FileAction.CREATE, FileAction.CHANGE)}
    removals = {c.path: c.digest for c in plan.changes() if c.action is FileAction.REMOVE}
    stale = {c.path for c in plan.changes() if c.action in (FileAction.REMOVE, FileAction.FORGET)}

    folder.discard(plan.leftovers)
    try:
        _write_ledgers(folder, {job.rendering.job: job.intent() for job in touched})
        folder.stage({path: change.text or "" for path, change in writes.items()})
    except BaseException:
        # No file was touched yet. If the disk does not even take the old ledgers, the intents stay: they are true.
        with suppress(TfgenError):
            _write_ledgers(folder, {job.rendering.job: job.before for job in touched})
        raise
    folder.replace({path: change.digest for path, change in writes.items()})
    folder.remove(removals)
    folder.prune(stale)
    folder.sync_folders(writes.keys() | stale)
    _write_ledgers(
        folder,
        {job.rendering.job: job.after for job in plan.jobs if job.touches_files() or job.before != job.after},
    )


def _write_ledgers(folder: OutputFolder, ledgers: Mapping[str, Ledger | None]) -> None:
    """Writes each job's ledger, or removes it for None."""
    folder.overwrite({ledger_path(job): ledger.to_text() for job, ledger in ledgers.items() if ledger})
    folder.discard(ledger_path(job) for job, ledger in ledgers.items() if ledger is None)
