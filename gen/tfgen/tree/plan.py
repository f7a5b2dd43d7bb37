"""Plan a write. The plan of a job depends only on its rendered files, the ledgers and the files on disk.

First, tfgen checks that no two jobs write the same path. Then tfgen plans the write of each job, and plans many jobs in
parallel. If several jobs share a file, the first of these jobs writes the file.

Without `force`, tfgen does not replace content that tfgen did not write. The only exception is a rendered file that
contains conflict markers of a merge, because git still has both versions of the file. With `force`, `WritePlan.lost`
lists the replaced files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from enum import StrEnum
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from tfgen.errors import TfgenError
from tfgen.git.tree import DISK, Tree
from tfgen.places import is_in_job_folder, is_placeholder, placeholders
from tfgen.record import Record
from tfgen.tree.files import FileTree, digest_of, path_fault
from tfgen.tree.folder import ReadableFolder
from tfgen.tree.ledger import Ledger, Ledgers, check_ledger, has_conflict, ledger_path
from tfgen.tree.staging import Rendering, Staged, Staging, unstaged
from tfgen.workers import MANY_SMALL, map_items

_LOSS_READ: Final = 1 << 20
"""Maximum number of characters that tfgen reads from a user's file to find the lines that a write would delete."""


class FileAction(StrEnum):
    """The kind of change that a write makes to the file at one path, such as `create` or `keep`."""

    CREATE = "create"
    CHANGE = "change"
    KEEP = "keep"
    REMOVE = "remove"
    FORGET = "forget"
    """Remove the path only from the ledger: the file is missing, is a placeholder, or still belongs to another job."""


class FileChange(NamedTuple):
    """The planned change of one path. The class is a named tuple, because pickle reads it faster than a `Record`.

    Attributes:
        before: the digest of the file on disk at the time of the plan; None if the file does not exist.
        after: the digest of the new text; None if the write writes no text.
        unix_digest: the digest of the file on disk with LF in place of each CRLF; None for a file without CRLF.
    """

    path: str
    action: FileAction
    before: str | None = None
    after: str | None = None
    unix_digest: str | None = None


FindCommitted: TypeAlias = Callable[[Mapping[str, Ledger]], Set[str]]
"""Function that gets the ledgers by name of the job, and returns the names of the jobs whose files are committed."""

PathAction: TypeAlias = tuple[str, FileAction]
"""A path, and the action of the write on the file at the path."""


class Conflict(Record):
    """A path that tfgen may not write without the consent of the user.

    Attributes:
        verb: what a write with --force does with the file: "replaces" or "removes"; empty if tfgen cannot write the
            path even with --force.
        lines: the first line that such a write deletes and the number of the others, such as "line 3 'x' and 2 more
            lines".
        number: the number of deleted lines.
    """

    path: str
    reason: str
    verb: str = ""
    lines: str = ""
    number: int = 0

    @property
    def can_force(self) -> bool:
        """Return whether tfgen would write the path if the user adds --force."""
        return bool(self.verb)

    def describe(self, force: str) -> str:
        """Return the message that reports the conflict. `force` is the option that makes tfgen write the path."""
        if not self.verb:
            return f"{self.path}: {self.reason}"
        lost = f"{self.lines} {'is' if self.number == 1 else 'are'} lost"
        restored = "no line is lost, but lines that were deleted or moved come back"
        return f"{self.path}: {self.reason}; {force} {self.verb} the file, and {lost if self.number else restored}"

    def describe_past(self) -> str:
        """Return the message about a file that tfgen overwrote or removed with --force."""
        lost = f"{self.lines} {'was' if self.number == 1 else 'were'} lost"
        restored = "no line was lost, but lines that were deleted or moved came back"
        return f"{self.path}: {self.reason}; {self.verb[:-1]}d, and {lost if self.number else restored}"

    def __str__(self) -> str:
        return self.describe("--force")


class ConflictsError(TfgenError):
    """Error for a write that would delete content of the user. tfgen has written nothing."""

    exit_code = 1  # the user can fix the cause, as for a problem of the input

    def __init__(self, conflicts: tuple[Conflict, ...], force: str = "--force") -> None:
        """Create the error. `force` is the option, or a command with the option, that makes tfgen write the paths."""
        super().__init__("\n".join(["nothing was written:", *(conflict.describe(force) for conflict in conflicts)]))
        self.conflicts = conflicts


class JobPlan(Record):
    """The planned changes of the files of one job, and the ledger of the job before and after the changes."""

    rendering: Rendering
    before: Ledger | None
    target: Ledger
    changes: tuple[FileChange, ...]

    @property
    def after(self) -> Ledger | None:
        """The ledger after the write; None if the job has no files."""
        return self.target if self.target.files else None

    def touches_files(self) -> bool:
        """Return whether the write creates, changes or removes a file, or removes a path only from the ledger."""
        return any(change.action is not FileAction.KEEP for change in self.changes)

    def is_done(self) -> bool:
        """Return whether the files and the ledger on disk already match the plan."""
        return not self.touches_files() and self.before == self.after

    def text(self, path: str) -> str:
        """Return the text of the file at a path after the write; empty for a placeholder and for a removed file."""
        return self.rendering.tree.files.get(path, "")

    @property
    def digests(self) -> Mapping[str, str | None]:
        """The digest of each file and of the ledger after the write, by path; None for a removed file."""
        decided = {change.path: change.after for change in self.changes if change.action is not FileAction.FORGET}
        return {**decided, ledger_path(self.rendering.job): digest_of(self.after.to_text()) if self.after else None}

    def intent(self) -> Ledger:
        """Return the ledger that is on disk during the write. The ledger lists the new files and the files to replace.

        The ledger does not list a user's file that `force` replaces. If tfgen is killed before it replaces the file,
        the next write needs `force` again.
        """
        replaced = {}
        for change in self.changes:
            if self.before is None or change.action in (FileAction.KEEP, FileAction.CREATE):
                continue
            if change.before is not None and self.before.wrote(change.path, change.before):
                replaced[change.path] = change.before
            elif (last := self.before.digest_after_complete_render(change.path)) is not None:
                replaced[change.path] = last
        # The target of a deleted job has no source.
        source = self.target.source or (self.before.source if self.before else "")
        return self.target.replaced(input_digest="", unfinished=replaced, defaults_digest="", source=source)


class WriteRequest(Record):
    """The input of `plan_write`.

    Attributes:
        out: the output folder.
        renderings: the files of each rendered job. The plan reads the items several times, one after the other.
        done: the names of the jobs that were not rendered, because their files on disk match their ledgers.
        force: whether to replace files that the user edited.
        find_committed: function that returns the names of the jobs whose rendered files are committed in git. tfgen
            does not write such a job if only the version of tfgen or the defaults changed. None to write every job.
        has_job: function that gets the name of a job and the source in a ledger, and returns whether this file still
            has the job. If so, the ledger is a conflict for a rendering of another job file. None for no such conflict.
        staging: the staging folder of the renderings, which also stores the plan of each job; None to have the plans
            in memory.
        tree: the version of the files with which the plan compares. A write needs the files on disk.
    """

    out: Path
    renderings: Sequence[Rendering | Staged[Rendering]]
    done: Collection[str] = ()
    force: bool = False
    find_committed: FindCommitted | None = None
    has_job: Callable[[str, str], bool] | None = None
    staging: Staging | None = None
    tree: Tree = DISK


class PlannedJob(NamedTuple):
    """A job of a write: the facts that stay in memory, and the plan, which may be in a staging folder.

    Attributes:
        counts: the number of files for each action. Example: {FileAction.CREATE: 53}.
        is_done: whether the files and the ledger on disk already match the plan.
        restarts_revision: whether a revision number in a rendered file starts again at 0, because the ledger is
            missing.
        stored: the plan.
        repeated: the changes of shared files that the plan of an earlier job contains too.
    """

    name: str
    counts: Mapping[FileAction, int]
    is_done: bool
    restarts_revision: bool
    stored: JobPlan | Staged[JobPlan]
    repeated: tuple[PathAction, ...] = ()

    @property
    def plan(self) -> JobPlan:
        """The plan, which each access reads again from the staging folder."""
        return unstaged(self.stored)

    def has(self, *actions: FileAction) -> bool:
        """Return whether at least one file has one of the given actions."""
        return not self.counts.keys().isdisjoint(actions)

    def changes(self, *actions: FileAction) -> list[FileChange]:
        """Return the changes with one of the given actions. A change of a shared file is only in the first job."""
        if not self.has(*actions):
            return []
        return [c for c in self.plan.changes if c.action in actions and (c.path, c.action) not in self.repeated]


class WritePlan(Record):
    """The plan of a write. If the plan has conflicts, tfgen writes nothing.

    Attributes:
        ledgers: the ledgers of all jobs below the output folder, before the write.
        jobs: the jobs that the write includes, in the order of the renderings.
        kept_jobs: the jobs that keep the files of an earlier version of tfgen or of earlier defaults. The mapping
            contains the description of the earlier render by name of the job. Example: {"mnist": "rendered by tfgen
            0.1.0"}.
        conflicts: the paths that tfgen may not write.
        lost: the conflicts at the paths that tfgen writes only because `request.force` is true.
        leftovers: the staging folders that killed processes left.
    """

    request: WriteRequest
    ledgers: Ledgers
    jobs: tuple[PlannedJob, ...]
    kept_jobs: Mapping[str, str]
    conflicts: tuple[Conflict, ...]
    lost: tuple[Conflict, ...]
    leftovers: tuple[str, ...]

    @property
    def out(self) -> Path:
        """The output folder."""
        return self.request.out

    @property
    def is_done(self) -> bool:
        """Return whether the files on disk already match the plan."""
        return all(job.is_done for job in self.jobs) and not self.leftovers

    def changes(self, *actions: FileAction) -> Iterator[FileChange]:
        """Yield the changes with one of the given actions, job by job. No path is repeated."""
        return (change for job in self.jobs for change in job.changes(*actions))

    @property
    def created(self) -> list[str]:
        """The sorted paths of the files that the write creates."""
        return sorted(change.path for change in self.changes(FileAction.CREATE))

    @property
    def changed(self) -> list[str]:
        """The sorted paths of the files that the write replaces."""
        return sorted(change.path for change in self.changes(FileAction.CHANGE))

    @property
    def removed(self) -> list[str]:
        """The sorted paths of the files that the write removes, because no job renders these files."""
        return sorted(change.path for change in self.changes(FileAction.REMOVE))

    def unchanged(self) -> Iterator[str]:
        """Yield the path of each file that already has the planned content, job by job. No path is repeated."""
        shared: set[str] = set()
        planned = ((job.name, [change.path for change in job.changes(FileAction.KEEP)]) for job in self.jobs)
        done = ((name, self.ledgers.files_now(name)) for name in self.request.done)
        for name, paths in chain(planned, done):
            for path in paths:
                if is_in_job_folder(name, path):
                    yield path
                elif path not in shared:
                    shared.add(path)
                    yield path


_Decision: TypeAlias = tuple[FileChange | None, Conflict | None]
"""The planned change of a path, and the conflict at the path.

The conflict is None if tfgen may write the path. The change is None if `force` cannot override the conflict.
"""


class _JobPlanner:
    """Plans the write of one job.

    The plan has a change for each path in the rendered tree or in the ledger of the job. A file that the user edited
    has a change and a conflict: tfgen makes the change only with `force`. A path that tfgen cannot write even with
    `force` has only a conflict.

    Args:
        folder: the open output folder.
        ledgers: the ledgers of all jobs.
        owners_after_write: the number of jobs whose ledgers list a path after the write, by path in lower case.
            Example: {"overlays/argocd/mnist-prod.yaml": 1}. Paths in the folder of a job are left out, because only
            that job can list them.
        rendering: the name and the files of the job.
    """

    def __init__(
        self, folder: ReadableFolder, ledgers: Ledgers, owners_after_write: Mapping[str, int], rendering: Rendering
    ) -> None:
        self._folder = folder
        self._ledgers = ledgers
        self._owners_after_write = owners_after_write
        self._before = ledgers.get(rendering.job)
        self._rendering = rendering.with_revision_number(self._before)
        self._listed = self._before.paths() if self._before else set()
        rendered = rendering.tree.files.keys()
        self._folded = {path.casefold() for path in rendered}
        # An earlier tfgen wrote no placeholder.
        self._stale = (self._listed | placeholders(self._listed - rendered)) - rendered
        self._on_disk = folder.states({*rendered, *self._stale})

    def plan(self) -> tuple[JobPlan, tuple[Conflict, ...]]:
        """Return the plan, and the conflicts at paths that tfgen may not write."""
        decided = [
            *(self._decide_rendered(path) for path in self._rendering.tree.files),
            *(self._decide_stale(path) for path in sorted(self._stale)),
        ]
        changes = tuple(change for change, _ in decided if change)
        conflicts = tuple(conflict for _, conflict in decided if conflict)
        return JobPlan(self._rendering, self._before, self._rendering.ledger(), changes), conflicts

    def _decide_rendered(self, path: str) -> _Decision:
        """Plan the change at a path that the job renders."""
        job, entry, digest = self._rendering.job, self._on_disk[path], self._rendering.tree.digests[path]
        is_shared = path in self._rendering.shared
        another = next((owner for owner in self._ledgers.owners(path) if owner != job), None)
        if another and not is_shared:
            return None, Conflict(path, f"the file belongs to the job {another} ({ledger_path(another)})")
        if entry.obstacle:
            return None, Conflict(path, entry.obstacle)
        if entry.digest is None:
            return FileChange(path, FileAction.CREATE, after=digest), None
        if entry.digest == digest:
            return FileChange(path, FileAction.KEEP, entry.digest, digest), None
        change = FileChange(path, FileAction.CHANGE, entry.digest, digest, entry.unix_digest)
        owners = {job, *(self._ledgers.owners(path) if is_shared else ())}
        if entry.unix_digest == digest or self._is_of_tfgen(path, owners):
            return change, None
        text = self._folder.read_text(path, _LOSS_READ)
        if path in self._listed and has_conflict(text):
            return change, None
        what = "the file was edited by hand" if path in self._listed else "tfgen did not write the file"
        return change, Conflict(path, what, "replaces", *_lost_lines(text, self._rendering.tree.files[path]))

    def _decide_stale(self, path: str) -> _Decision:
        """Plan the change at a path that only the ledger lists, because the job no longer renders the file.

        A placeholder stays, and is created if the file is missing. A file that another job still lists after the write
        stays as well.
        """
        entry = self._on_disk[path]
        if is_placeholder(path) and entry.digest is None:
            return FileChange(path, FileAction.CREATE, after=digest_of("")), None
        folded = path.casefold()
        is_kept = self._owners_after_write.get(folded, 0) > (folded in self._folded)
        if is_placeholder(path) or entry.digest is None or is_kept:
            return FileChange(path, FileAction.FORGET), None
        change = FileChange(path, FileAction.REMOVE, entry.digest, None, entry.unix_digest)
        if self._is_of_tfgen(path, {self._rendering.job, *self._ledgers.owners(path)}):
            return change, None
        text = self._folder.read_text(path, _LOSS_READ)
        if has_conflict(text):
            return change, None
        what = "the file was edited by hand, and the job no longer renders the file"
        return change, Conflict(path, what, "removes", *_lost_lines(text, ""))

    def _is_of_tfgen(self, path: str, jobs: Iterable[str]) -> bool:
        """Return whether the ledger of one of the jobs lists the file on disk with its digest. CRLF counts as LF."""
        entry = self._on_disk[path]
        digests = [digest for digest in (entry.digest, entry.unix_digest) if digest is not None]
        # A generator, because the first match usually ends the search, and each ledger is read from the disk.
        ledgers = (self._ledgers[job] for job in jobs if job in self._ledgers)
        return any(ledger.wrote(path, digest) for ledger in ledgers for digest in digests)


def _lost_lines(on_disk: str, new: str) -> tuple[str, int]:
    """Return the lines of the text `on_disk` that are missing in the text `new`, as in `Conflict`."""
    remaining = Counter(new.splitlines())
    gone = []
    for number, line in enumerate(on_disk.splitlines(), start=1):
        if remaining[line]:
            remaining[line] -= 1
        elif line.strip():
            gone.append(f"line {number} {line.strip()[:60]!r}")
    following = {0: "", 1: " and 1 more line"}.get(len(gone) - 1, f" and {len(gone) - 1} more lines")
    return gone[0] + following if gone else "", len(gone)


# -- all jobs of a write ---------------------------------------------------------------------------------------------


def plan_jobs(folder: ReadableFolder, request: WriteRequest) -> WritePlan:
    """Plan a write to an open output folder. Raises the errors of `write.plan_write`."""
    ledgers = Ledgers(folder, request.tree)
    written, owners_after_write, kept_jobs, conflicts = _check_together(request, ledgers)
    if request.staging and written:
        request.staging.begin()
    jobs: list[PlannedJob] = []
    decided: dict[PathAction, PathAction] = {}  # many jobs share one object
    plan_one = partial(_plan_one, folder, ledgers, owners_after_write, request)
    with closing(map_items(plan_one, written, many=MANY_SMALL)) as planned:
        for job, conflicts_of_job, shared in planned:
            again = tuple(decided[action] for action in shared if action in decided)
            jobs.append(job._replace(repeated=again))
            conflicts += conflicts_of_job
            decided.update((action, action) for action in shared if action not in decided)
    conflicts.sort(key=lambda conflict: conflict.path)
    return WritePlan(
        request=request,
        ledgers=ledgers,
        jobs=tuple(jobs),
        kept_jobs=kept_jobs,
        conflicts=tuple(conflict for conflict in conflicts if not (request.force and conflict.can_force)),
        lost=tuple(conflict for conflict in conflicts if request.force and conflict.can_force),
        leftovers=tuple(folder.abandoned()),
    )


def _check_together(
    request: WriteRequest, ledgers: Ledgers
) -> tuple[list[int], Mapping[str, int], Mapping[str, str], list[Conflict]]:
    """Find the jobs that the write includes. Raise TfgenError if two jobs have the same path or the same ledger.

    Returns:
        The indices of the renderings to write; the number of jobs whose ledgers list a path after the write, as in
        `_JobPlanner`; the jobs whose files remain unchanged, as in `WritePlan`: for each of these committed jobs, only
        the version of tfgen or the defaults changed; and a conflict for each job that has its rendered files from
        another job file, which still has the job.
    """
    committed = cache(lambda: request.find_committed(ledgers) if request.find_committed else frozenset())
    names: dict[str, str] = {}
    written: list[int] = []
    names_written: set[str] = set()
    kept_jobs: dict[str, str] = {}
    parts: dict[str, Mapping[str, str]] = {}
    shared: set[str] = set()
    conflicts: list[Conflict] = []
    for at, rendering in enumerate(map(unstaged, request.renderings)):
        job = rendering.job
        if "/" in job or job.startswith(".") or path_fault(job):
            raise TfgenError(f"{job!r} is not a valid name of a job: a ledger cannot have this name")
        if namesake := names.get(job.casefold()):
            raise TfgenError(f"{job!r} and {namesake!r} are two jobs with the same ledger; rename one of the jobs")
        names[job.casefold()] = job
        before = ledgers.get(job)
        source = before.source if before and rendering.source else ""
        is_moved = bool(source) and source.casefold() != rendering.source.casefold()
        if is_moved and request.has_job and request.has_job(job, source):
            what = (
                f"the rendered files of {job} belong to {source}, which still has a job with the name {job}; for a new "
                f"job, set another metadata.name in {rendering.source}; for a moved job, remove {source}"
            )
            conflicts.append(Conflict(ledger_path(job), what))
        target = rendering.ledger()
        if before and before.differs_only_by_tool_or_defaults(target) and job in committed():
            kept_jobs[job] = before.renderer(target)
            continue
        written.append(at)
        names_written.add(job)
        # `combine` compares digests in place of texts, so that no text is read from the disk.
        texts = {path: text for path, text in rendering.tree.digests.items() if not is_in_job_folder(job, path)}
        if texts:
            parts[f"job {job}"] = texts
            shared |= rendering.shared
    FileTree.combine(parts, shared)
    owners_after_write = Counter(path.casefold() for part in parts.values() for path in part)
    for path, owners in ledgers.shared_paths.items():
        owners_after_write[path] += len({*owners} - names_written)
    return written, owners_after_write, kept_jobs, conflicts


def _plan_one(
    folder: ReadableFolder, ledgers: Ledgers, owners_after_write: Mapping[str, int], request: WriteRequest, at: int
) -> tuple[PlannedJob, tuple[Conflict, ...], tuple[PathAction, ...]]:
    """Plan the job with the index `at`. Return the job, its conflicts, and its changes that other jobs may share."""
    rendering = unstaged(request.renderings[at])
    plan, conflicts = _JobPlanner(folder, ledgers, owners_after_write, rendering).plan()
    check_ledger(rendering.job, plan.target)
    revised = rendering.revision.path if rendering.revision and plan.before is None else None
    job = PlannedJob(
        name=rendering.job,
        counts=dict(Counter(change.action for change in plan.changes)),
        is_done=plan.is_done(),
        restarts_revision=any(c.path == revised and c.action is FileAction.CHANGE for c in plan.changes),
        stored=request.staging.store(plan) if request.staging else plan,
    )
    return job, conflicts, tuple((c.path, c.action) for c in plan.changes if not is_in_job_folder(job.name, c.path))
