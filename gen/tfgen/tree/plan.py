"""Plan a write. The plan of a job depends only on its rendered files, the ledgers and the files on disk.

First, tfgen checks that no two jobs write the same path. Then tfgen plans the write of each job, and plans many jobs in
parallel. If several jobs share a file, the first of these jobs writes the file.

Without `force`, tfgen does not replace content that tfgen did not write. The only exception is a rendered file that
contains conflict markers of a merge, because git still has both versions of the file. With `force`, `WritePlan.lost`
lists the replaced files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import closing
from enum import StrEnum
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from tfgen import __version__
from tfgen.errors import TfgenError
from tfgen.git.tree import DISK, Tree
from tfgen.places import is_in_job_folder, is_placeholder, placeholders
from tfgen.record import Record
from tfgen.tree.files import FileTree, digest_of, path_fault
from tfgen.tree.folder import DiskEntry, ReadableFolder
from tfgen.tree.ledger import LEDGER_FOLDER, Ledger, Ledgers, check_ledger, has_conflict, ledger_path
from tfgen.tree.staging import Rendering, Staged, Staging, Stored
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
        digest: the digest of the file on disk at the time of the plan; None if the file does not exist.
        tree: the tree of files that contains the new text; None if the write writes no text.
        unix_digest: the digest of the file on disk with LF in place of each CRLF; None for a file without CRLF.
    """

    path: str
    action: FileAction
    digest: str | None = None
    tree: FileTree | None = None
    unix_digest: str | None = None

    @property
    def text(self) -> str | None:
        """The new text of the file; None if the write removes the file."""
        return None if self.tree is None else self.tree.files[self.path]


FindCommitted: TypeAlias = Callable[[Mapping[str, Ledger]], Set[str]]
"""Function that gets the ledgers by name of the job, and returns the names of the jobs whose files are committed.

If only the version of tfgen or the defaults of a committed job changed, tfgen does not write the job again.
"""


HasJob: TypeAlias = Callable[[str, str], bool]
"""Function that gets the name of a job and the source in a ledger, and returns whether this file still has the job."""


def no_file_has_job(_: str, __: str) -> bool:
    """Return False, as if no job file existed. A write then takes over the ledger of each job."""
    return False


def nothing_committed(_: Mapping[str, Ledger]) -> Set[str]:
    """Return an empty set of names, as if no job had committed rendered files. The write then includes every job."""
    return frozenset()


PathAction: TypeAlias = tuple[str, FileAction]
"""A path, and the action of the write on the file at the path."""


class Loss(Record):
    """The lines that are lost when a write replaces or removes a file.

    Attributes:
        action: the verb for messages before and after the write: ("replaces", "replaced") or ("removes", "removed").
        line: the number of the first lost line; 0 if no line is lost.
        text: the text of the first lost line.
        following: the number of lost lines after the first lost line.
    """

    action: tuple[str, str]
    line: int = 0
    text: str = ""
    following: int = 0

    def describe(self, force: str) -> str:
        """Return the message that warns before a write, such as "--force replaces the file, and line 3 'x' is lost"."""
        is_lost = "are lost" if self.following else "is lost"
        return f"{force} {self.action[0]} the file, and {self._lines(is_lost, 'is lost', 'come')}"

    def describe_past(self) -> str:
        """Return the message that reports a write, such as "replaced, and line 3 'x' was lost"."""
        is_lost = "were lost" if self.following else "was lost"
        return f"{self.action[1]}, and {self._lines(is_lost, 'was lost', 'came')}"

    def _lines(self, is_lost: str, none_lost: str, come: str) -> str:
        if not self.line:
            return f"no line {none_lost}, but lines that were deleted or moved {come} back"
        following = f" and {self.following} more {'line' if self.following == 1 else 'lines'}" if self.following else ""
        return f"line {self.line} {self.text!r}{following} {is_lost}"


class Conflict(Record):
    """A path that tfgen may not write without the consent of the user.

    Attributes:
        loss: the lines that a write with --force deletes; None if tfgen cannot write the path even with --force.
    """

    path: str
    reason: str
    loss: Loss | None = None

    @property
    def can_force(self) -> bool:
        """Return whether tfgen would write the path if the user adds --force."""
        return self.loss is not None

    def describe(self, force: str) -> str:
        """Return the message that reports the conflict. `force` is the option that makes tfgen write the path."""
        return f"{self.path}: {self.reason}" + (f"; {self.loss.describe(force)}" if self.loss else "")

    def describe_past(self) -> str:
        """Return the message about a file that tfgen overwrote or removed with --force."""
        return f"{self.path}: {self.reason}" + (f"; {self.loss.describe_past()}" if self.loss else "")

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

    def restarts_revision(self) -> bool:
        """Return whether a revision number in a rendered file starts again at 0, because the ledger is missing."""
        revision = self.rendering.revision
        replaced = {change.path for change in self.changes if change.action is FileAction.CHANGE}
        return self.before is None and revision is not None and revision.path in replaced

    def touches_files(self) -> bool:
        """Return whether the write creates, changes or removes a file, or removes a path only from the ledger."""
        return any(change.action is not FileAction.KEEP for change in self.changes)

    def is_done(self) -> bool:
        """Return whether the files and the ledger on disk already match the plan."""
        return not self.touches_files() and self.before == self.after

    @property
    def digests(self) -> Mapping[str, str | None]:
        """The digest of each file and of the ledger after the write, by path; None for a removed file."""
        decided = {
            change.path: change.tree.digests[change.path] if change.tree else None
            for change in self.changes
            if change.action is not FileAction.FORGET
        }
        return {**decided, ledger_path(self.rendering.job): digest_of(self.after.to_text()) if self.after else None}

    def changes_by(self, actions: Collection[FileAction], but: Set[PathAction]) -> list[FileChange]:
        """Return the changes whose action is in `actions`.

        Args:
            actions: the actions to select.
            but: pairs of a path and an action. The changes with these pairs are left out.
        """
        return [c for c in self.changes if c.action in actions and (c.path, c.action) not in but]

    def shared_path_actions(self) -> tuple[PathAction, ...]:
        """Return the path and the action of each change outside the folder of the job. Jobs may share such a path."""
        name = self.rendering.job
        return tuple((c.path, c.action) for c in self.changes if not is_in_job_folder(name, c.path))

    def counts(self) -> dict[FileAction, int]:
        """Return the number of files for each action. Example: {FileAction.CREATE: 53}."""
        return dict(Counter(change.action for change in self.changes))

    def intent(self) -> Ledger:
        """Return the ledger that is on disk during the write. The ledger lists the new files and the files to replace.

        The ledger does not list a user's file that `force` replaces. If tfgen is killed before it replaces the file,
        the next write needs `force` again.
        """
        replaced = {}
        for change in self.changes:
            if self.before is None or change.action in (FileAction.KEEP, FileAction.CREATE):
                continue
            if change.digest is not None and self.before.wrote(change.path, change.digest):
                replaced[change.path] = change.digest
            elif (last := self.before.digest_after_complete_render(change.path)) is not None:
                replaced[change.path] = last
        # The target of a deleted job has no source.
        source = self.target.source or (self.before.source if self.before else "")
        return self.target.replaced(input_digest="", unfinished=replaced, defaults_digest="", source=source)


class WriteRequest(Record):
    """The input of `plan_write`.

    Attributes:
        out: the output folder.
        renderings: the files of each rendered job.
        done: the names of the jobs that were not rendered, because their files on disk match their ledgers.
        force: whether to replace files that the user edited.
        find_committed: function that returns the names of the jobs whose rendered files are committed in git. tfgen
            does not write such a job if only the version of tfgen or the defaults changed.
        has_job: function that tests whether the job file that a ledger names still has the job.
        staging: the staging folder for the plan of each job; None to have the plans in memory.
        tree: the version of the files with which the plan compares.
    """

    out: Path
    renderings: Sequence[Rendering]
    done: Collection[str]
    force: bool
    find_committed: FindCommitted
    has_job: HasJob
    staging: Staging | None
    tree: Tree = DISK


class JobPlans(Record):
    """The plans of all jobs of a write, in the order of the renderings.

    Attributes:
        names: the name of each job.
        plans: the plan of each job.
        counts: for each job, the number of files by action. tfgen uses the numbers to skip the plans of jobs without a
            certain action.
        repeated: changes of shared files to skip, by index of the job. The plan of an earlier job contains the same
            change.
        undone: the indices of the jobs whose files or ledgers on disk differ from the plan.
    """

    names: Sequence[str]
    plans: Sequence[JobPlan]
    counts: Sequence[Mapping[FileAction, int]]
    repeated: Mapping[int, Set[PathAction]]
    undone: Sequence[int]

    def __getitem__(self, at: int) -> JobPlan:
        return self.plans[at]

    def __iter__(self) -> Iterator[JobPlan]:
        return iter(self.plans)

    def count(self, *actions: FileAction) -> int:
        """Return the number of files with one of the given actions. A file that two jobs share counts twice."""
        return sum(counts.get(action, 0) for counts in self.counts for action in actions)

    def indices_with_any(self, *actions: FileAction) -> list[int]:
        """Return the indices of the jobs that have at least one file with one of the given actions."""
        return [at for at, counts in enumerate(self.counts) if not counts.keys().isdisjoint(actions)]

    def changes(self, *actions: FileAction) -> Iterator[list[FileChange]]:
        """Yield the changes with one of the given actions, in one list for each job. A shared file is in one list."""
        return (self.changes_of(at, actions) for at in self.indices_with_any(*actions))

    def changes_of(self, at: int, actions: Collection[FileAction]) -> list[FileChange]:
        """Return the changes of one job whose action is in `actions`. `at` is the index of the job.

        A change of a shared file is left out if the plan of an earlier job contains the change.
        """
        return self.plans[at].changes_by(actions, self.repeated.get(at, frozenset()))

    def paths(self, action: FileAction) -> Iterator[str]:
        """Yield the path of each file with the action `action`. No path is repeated."""
        return (change.path for changes in self.changes(action) for change in changes)


class WritePlan(Record):
    """The plan of a write. If the plan has conflicts, tfgen writes nothing.

    Attributes:
        request: the input of the plan.
        ledgers: the ledgers of all jobs below the output folder, before the write.
        jobs: the plans of the jobs that the write includes.
        kept_jobs: the jobs that keep the files of an earlier version of tfgen or of earlier defaults. The mapping
            contains the description of the earlier render by name of the job. Example: {"mnist": "rendered by tfgen
            0.1.0"}.
        conflicts: the paths that tfgen may not write.
        lost: the conflicts at the paths that tfgen writes only because `request.force` is true.
        leftovers: the staging folders that killed processes left.
        restarted_revisions: the jobs whose revision number starts again at 0, because the ledger is missing.
    """

    request: WriteRequest
    ledgers: Ledgers
    jobs: JobPlans
    kept_jobs: Mapping[str, str]
    conflicts: tuple[Conflict, ...]
    lost: tuple[Conflict, ...]
    leftovers: tuple[str, ...]
    restarted_revisions: tuple[str, ...]

    @property
    def out(self) -> Path:
        """The output folder."""
        return self.request.out

    @property
    def is_done(self) -> bool:
        """Return whether the files on disk already match the plan."""
        return not (self.jobs.undone or self.leftovers)

    @property
    def created(self) -> tuple[str, ...]:
        """The sorted paths of the files that the write creates."""
        return tuple(sorted(self.jobs.paths(FileAction.CREATE)))

    @property
    def changed(self) -> tuple[str, ...]:
        """The sorted paths of the files that the write replaces."""
        return tuple(sorted(self.jobs.paths(FileAction.CHANGE)))

    @property
    def removed(self) -> tuple[str, ...]:
        """The sorted paths of the files that the write removes, because no job renders these files."""
        return tuple(sorted(self.jobs.paths(FileAction.REMOVE)))

    def unchanged(self) -> Iterator[str]:
        """Yield the path of each file that already has the planned content, job by job. No path is repeated."""
        shared: set[str] = set()
        jobs = (self.jobs[at] for at in self.jobs.indices_with_any(FileAction.KEEP))
        planned = (
            (job.rendering.job, [c.path for c in job.changes_by({FileAction.KEEP}, frozenset())]) for job in jobs
        )
        done = ((name, self.ledgers.files_now(name)) for name in self.request.done)
        for name, paths in chain(planned, done):
            for path in paths:
                if is_in_job_folder(name, path):
                    yield path
                elif path not in shared:
                    shared.add(path)
                    yield path


class PlanInput(Record):
    """The input of `plan_job`: the ledgers of all jobs, and the state of the disk.

    Attributes:
        ledgers: the ledgers of all jobs.
        on_disk: the state on disk of each path in the job's tree or ledger.
        owners_after_write: the number of jobs whose ledgers list a path after the write, by path in lower case.
            Example: {"overlays/argocd/mnist-prod.yaml": 1}. Paths in the folder of a job are left out, because only
            that job can list them.
        read: function that returns the text on disk at a path. tfgen calls this function only for a conflict, to find
            the lost lines.
    """

    ledgers: Ledgers
    on_disk: Mapping[str, DiskEntry]
    owners_after_write: Mapping[str, int]
    read: Callable[[str], str]

    def owner(self, path: str, job: str) -> str | None:
        """Return the name of a job, other than `job`, whose ledger lists the path; None if no such job exists."""
        return next((another for another in self.ledgers.owners(path) if another != job), None)

    def is_kept(self, path: str, rendering: Rendering) -> bool:
        """Return whether another job still lists the path after the write. If so, tfgen must not remove the file."""
        return self.owners_after_write.get(path.casefold(), 0) > (path.casefold() in rendering.folded_paths)

    def ledger_lists(self, path: str, job: str) -> bool:
        """Return whether the ledger of `job` lists the file on disk with its digest. CRLF counts as LF."""
        ledger, entry = self.ledgers.get(job), self.on_disk[path]
        digests = (digest for digest in (entry.digest, entry.unix_digest) if digest is not None)
        return ledger is not None and any(ledger.wrote(path, digest) for digest in digests)

    def any_ledger_lists(self, path: str, job: str) -> bool:
        """Return whether tfgen wrote the file on disk: any ledger lists the file with its digest."""
        return any(self.ledger_lists(path, owner) for owner in {job, *self.ledgers.owners(path)})


def plan_job(rendering: Rendering, inputs: PlanInput, tool_version: str) -> tuple[JobPlan, tuple[Conflict, ...]]:
    """Plan the write of one job. Return the plan, and the conflicts at paths that tfgen may not write.

    The plan has a change for each path in the rendered tree or in the ledger of the job. A file that the user edited
    has a change and a conflict: tfgen makes the change only with `force`. A path that tfgen cannot write even with
    `force` has only a conflict.

    Args:
        rendering: The name and the files of the job.
        inputs: The state of the disk and of the ledgers.
        tool_version: The version of tfgen for the new ledger.
    """
    before = inputs.ledgers.get(rendering.job)
    rendering = rendering.with_revision_number(before)
    stale = before.paths() - rendering.tree.files.keys() if before else set()
    stale |= placeholders(stale) - rendering.tree.files.keys()  # an earlier tfgen wrote no placeholder
    decided = [
        *(_decide_rendered(path, rendering, inputs) for path in rendering.tree.files),
        *(_decide_stale(path, rendering, inputs) for path in sorted(stale)),
    ]
    changes = tuple(change for change, _ in decided if change)
    conflicts = tuple(conflict for _, conflict in decided if conflict)
    return JobPlan(rendering, before, rendering.ledger(tool_version), changes), conflicts


_Decision: TypeAlias = tuple[FileChange | None, Conflict | None]
"""The planned change of a path, and the conflict at the path.

The conflict is None if tfgen may write the path. The change is None if `force` cannot override the conflict.
"""


def _decide_rendered(path: str, rendering: Rendering, inputs: PlanInput) -> _Decision:
    """Plan the change at a path that the job renders."""
    entry, digest, is_shared = inputs.on_disk[path], rendering.tree.digests[path], path in rendering.shared
    if not is_shared and (another := inputs.owner(path, rendering.job)):
        return None, Conflict(path, f"the file belongs to the job {another} ({ledger_path(another)})")
    if entry.obstacle:
        return None, Conflict(path, entry.obstacle)
    if entry.digest is None:
        return FileChange(path, FileAction.CREATE, tree=rendering.tree), None
    if entry.digest == digest:
        return FileChange(path, FileAction.KEEP, entry.digest, rendering.tree), None
    change = FileChange(path, FileAction.CHANGE, entry.digest, rendering.tree, entry.unix_digest)
    if entry.unix_digest == digest:
        return change, None
    if inputs.any_ledger_lists(path, rendering.job) if is_shared else inputs.ledger_lists(path, rendering.job):
        return change, None
    before = inputs.ledgers.get(rendering.job)
    text = inputs.read(path)
    if before and path in before.paths() and has_conflict(text):
        return change, None
    what = "the file was edited by hand" if before and path in before.paths() else "tfgen did not write the file"
    return change, Conflict(path, what, _loss(text, rendering.tree.files[path], _REPLACE))


def _decide_stale(path: str, rendering: Rendering, inputs: PlanInput) -> _Decision:
    """Plan the change at a path that only the ledger lists, because the job no longer renders the file.

    A placeholder stays, and is created if the file is missing.
    """
    entry = inputs.on_disk[path]
    if is_placeholder(path) and entry.digest is None:
        return FileChange(path, FileAction.CREATE, tree=FileTree({path: ""})), None
    if is_placeholder(path) or entry.digest is None or inputs.is_kept(path, rendering):
        return FileChange(path, FileAction.FORGET), None
    change = FileChange(path, FileAction.REMOVE, entry.digest, None, entry.unix_digest)
    if inputs.any_ledger_lists(path, rendering.job) or has_conflict(text := inputs.read(path)):
        return change, None
    what = "the file was edited by hand, and the job no longer renders the file"
    return change, Conflict(path, what, _loss(text, "", _REMOVE))


_REPLACE: Final = ("replaces", "replaced")
_REMOVE: Final = ("removes", "removed")


def _loss(on_disk: str, new: str, action: tuple[str, str]) -> Loss:
    """Return the lines of the text `on_disk` that are missing in the text `new`. A write deletes these lines.

    `action` is the verb for the messages, as in `Loss.action`.
    """
    remaining = Counter(new.splitlines())
    gone = []
    for number, line in enumerate(on_disk.splitlines(), start=1):
        if remaining[line]:
            remaining[line] -= 1
        elif line.strip():
            gone.append((number, line.strip()))
    if not gone:
        return Loss(action)
    (number, line), *following = gone
    return Loss(action, number, line[:60], len(following))


# -- all jobs of a write ---------------------------------------------------------------------------------------------


def plan_jobs(folder: ReadableFolder, request: WriteRequest) -> WritePlan:
    """Plan a write to an open output folder. Raises the errors of `write.plan_write`."""
    ledgers = Ledgers(folder, request.tree)
    together = _check_together(request, ledgers)
    if request.staging and together.written:
        request.staging.begin()
    plans: list[JobPlan | Staged[JobPlan]] = []
    conflicts = [*together.conflicts]
    counts: list[Mapping[FileAction, int]] = []
    restarted_revisions: list[str] = []
    decided: dict[PathAction, PathAction] = {}  # many jobs share one object
    repeated: dict[int, Set[PathAction]] = {}
    undone: list[int] = []
    plan_one = partial(_plan_one, folder, ledgers, together.owners_after_write, request.staging)
    with closing(
        map_items(lambda at: plan_one(request.renderings[at]), [*together.written], many=MANY_SMALL)
    ) as planned:
        for at, (name, job) in enumerate(zip(together.written.values(), planned, strict=True)):
            plans.append(job.plan)
            conflicts += job.conflicts
            counts.append(job.counts)
            restarted_revisions += [name] if job.restarts_revision else []
            undone += [] if job.is_done else [at]
            if again := frozenset(decided[action] for action in job.shared if action in decided):
                repeated[at] = again
            decided.update((action, action) for action in job.shared if action not in decided)
    conflicts.sort(key=lambda conflict: conflict.path)
    return WritePlan(
        request=request,
        ledgers=ledgers,
        jobs=JobPlans(tuple(together.written.values()), Stored(plans), tuple(counts), repeated, tuple(undone)),
        kept_jobs=together.kept_jobs,
        conflicts=tuple(conflict for conflict in conflicts if not (request.force and conflict.can_force)),
        lost=tuple(conflict for conflict in conflicts if request.force and conflict.can_force),
        leftovers=tuple(folder.abandoned(LEDGER_FOLDER)),
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
        # `combine` compares digests in place of texts, so that no text is read from the disk.
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
    """A summary of the plan of one job.

    Attributes:
        plan: the complete plan, which may be in a staging folder.
        conflicts: the conflicts of the job.
        counts: the number of files for each action.
        shared: the path and the action for each file outside the folder of the job.
        is_done: whether the files on disk already match the plan.
        restarts_revision: whether a revision number in a rendered file starts again at 0, because the ledger is
            missing.
    """

    plan: JobPlan | Staged[JobPlan]
    conflicts: tuple[Conflict, ...]
    counts: Mapping[FileAction, int]
    shared: tuple[PathAction, ...]
    is_done: bool
    restarts_revision: bool


def _plan_one(
    folder: ReadableFolder,
    ledgers: Ledgers,
    owners_after_write: Mapping[str, int],
    staging: Staging | None,
    rendering: Rendering,
) -> _Planned:
    before = ledgers.get(rendering.job)
    listed = before.paths() if before else set()
    on_disk = folder.states({*rendering.tree.files, *listed, *placeholders(listed)})
    inputs = PlanInput(ledgers, on_disk, owners_after_write, partial(folder.read_text, limit=_LOSS_READ))
    job, conflicts = plan_job(rendering, inputs, __version__)
    check_ledger(rendering.job, job.target)
    return _Planned(
        plan=staging.store(job) if staging else job,
        conflicts=conflicts,
        counts=job.counts(),
        shared=job.shared_path_actions(),
        is_done=job.is_done(),
        restarts_revision=job.restarts_revision(),
    )
