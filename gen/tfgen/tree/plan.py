"""The plan of a write for one job: a pure function of the rendered files, the ledger and the files on disk.

    plan_job(rendering, surroundings, tool_version)  ->  a JobPlan and its conflicts

A write loses a byte that tfgen did not write only with `force`, and `WritePlan.lost` then names the file. A rendered
file with the conflict markers of a merge is an exception: git has both sides of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from tfgen.errors import TfgenError
from tfgen.places import is_in_job_folder
from tfgen.record import Record
from tfgen.tree.file_tree import FileTree, digest_of
from tfgen.tree.ledger import Ledger, ledger_path
from tfgen.tree.ledgers import Ledgers
from tfgen.tree.merge_conflict import has_conflict
from tfgen.tree.output_folder import DiskEntry
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import Store


class FileAction(StrEnum):
    """The action of a write on one path."""

    CREATE = "create"
    CHANGE = "change"
    KEEP = "keep"
    REMOVE = "remove"
    FORGET = "forget"
    """Remove the path from the ledger: the job no longer renders the file, which is missing or has another owner."""


class FileChange(NamedTuple):
    """The change of one path. It is not a `Record`: a job has dozens of changes, and a spool reads them several times.

    Attributes:
        digest: the digest of the file on disk at the time of the decision; None for no file.
        tree: the tree with the new text.
        unix_digest: the digest of the file on disk with LF in place of each CRLF, if the file has any.
    """

    path: str
    action: FileAction
    digest: str | None = None
    tree: FileTree | None = None
    unix_digest: str | None = None

    @property
    def text(self) -> str | None:
        """The new text of the file; None for a file that is removed."""
        return None if self.tree is None else self.tree.files[self.path]


FindCommitted: TypeAlias = Callable[[Mapping[str, Ledger]], Set[str]]
"""Takes the ledgers. Returns the committed jobs, which keep files of another version of tfgen or of other defaults."""


def nothing_committed(_: Mapping[str, Ledger]) -> Set[str]:
    """Return no job, so that this version of tfgen writes every job."""
    return frozenset()


FileDecision: TypeAlias = tuple[str, FileAction]
"""A path and the action of the write."""


class Loss(Record):
    """The lines that a write takes from a file.

    Attributes:
        action: what the write does to the file, as `replaces` or `replaced`.
        line: the first line that is lost; 0 if no line is.
        text: the text of that line.
        following: the number of lost lines after that line.
    """

    action: tuple[str, str]
    line: int = 0
    text: str = ""
    following: int = 0

    def describe(self, force: str) -> str:
        """The text for a write that an option allows."""
        is_lost = "are lost" if self.following else "is lost"
        return f"{force} {self.action[0]} it, and {self._lines(is_lost, 'is lost', 'come')}"

    def describe_past(self) -> str:
        """The text after the write."""
        is_lost = "were lost" if self.following else "was lost"
        return f"{self.action[1]}, and {self._lines(is_lost, 'was lost', 'came')}"

    def _lines(self, is_lost: str, none_lost: str, come: str) -> str:
        if not self.line:
            return f"no line of it {none_lost}, but deleted or moved lines {come} back"
        following = f" and {self.following} more {'line' if self.following == 1 else 'lines'}" if self.following else ""
        return f"line {self.line} {self.text!r}{following} {is_lost}"


class Conflict(Record):
    """A path that tfgen may not write.

    Attributes:
        loss: what a write by force loses; None for a path that not even force writes.
    """

    path: str
    reason: str
    loss: Loss | None = None

    @property
    def can_force(self) -> bool:
        """Return whether an option makes tfgen write the path."""
        return self.loss is not None

    def describe(self, force: str) -> str:
        """The conflict, with the option that makes tfgen write the path."""
        return f"{self.path}: {self.reason}" + (f"; {self.loss.describe(force)}" if self.loss else "")

    def describe_past(self) -> str:
        """The conflict after tfgen wrote the path."""
        return f"{self.path}: {self.reason}" + (f"; {self.loss.describe_past()}" if self.loss else "")

    def __str__(self) -> str:
        return self.describe("--force")


class ConflictsError(TfgenError):
    """The write would lose content of the user. Nothing was written."""

    exit_code = 1  # the input is wrong, as for any other problem

    def __init__(self, conflicts: tuple[Conflict, ...], force: str = "--force") -> None:
        """Args: `force` is the option, or the command with the option, that makes tfgen write the paths."""
        super().__init__("\n".join(["nothing was written:", *(conflict.describe(force) for conflict in conflicts)]))
        self.conflicts = conflicts


class JobPlan(Record):
    """The changes for one job, and its ledger before and after them."""

    rendering: Rendering
    before: Ledger | None
    target: Ledger
    changes: tuple[FileChange, ...]

    @property
    def after(self) -> Ledger | None:
        """The ledger after the write; None for a job without files."""
        return self.target if self.target.files else None

    def is_recounted(self) -> bool:
        """Return whether the revision of a file starts again because the ledger is missing."""
        revision = self.rendering.revision
        replaced = {change.path for change in self.changes if change.action is FileAction.CHANGE}
        return self.before is None and revision is not None and revision.path in replaced

    def touches_files(self) -> bool:
        """Return whether the write creates, changes, removes or forgets a file."""
        return any(change.action is not FileAction.KEEP for change in self.changes)

    def is_done(self) -> bool:
        """Return whether the files and the ledger on disk match the plan already."""
        return not self.touches_files() and self.before == self.after

    @property
    def digests(self) -> Mapping[str, str | None]:
        """The digest of each path after the write, including the ledger; None for a removed file."""
        decided = {
            change.path: change.tree.digests[change.path] if change.tree else None
            for change in self.changes
            if change.action is not FileAction.FORGET
        }
        return {**decided, ledger_path(self.rendering.job): digest_of(self.after.to_text()) if self.after else None}

    def changes_by(self, actions: Collection[FileAction], but: Set[FileDecision]) -> list[FileChange]:
        """Return the changes with one of these actions, except for the decisions in `but`."""
        return [c for c in self.changes if c.action in actions and (c.path, c.action) not in but]

    def shared_decisions(self) -> tuple[FileDecision, ...]:
        """Return the decisions on paths that other jobs may share."""
        name = self.rendering.job
        return tuple((c.path, c.action) for c in self.changes if not is_in_job_folder(name, c.path))

    def counts(self) -> dict[FileAction, int]:
        """Return the number of files by action."""
        return dict(Counter(change.action for change in self.changes))

    def intent(self) -> Ledger:
        """Return the ledger for the time of the write.

        It lists both the new files and the files that the write replaces.

        A user's file that `force` overrides is not listed. If a kill stops the render before that file, the user's file
        remains, and only another `force` can replace it.
        """
        replaced = {}
        for change in self.changes:
            if self.before is None or change.action in (FileAction.KEEP, FileAction.CREATE):
                continue
            if change.digest is not None and self.before.wrote(change.path, change.digest):
                replaced[change.path] = change.digest
            elif (last := self.before.last_finished(change.path)) is not None:
                replaced[change.path] = last
        # The target of a deleted job has no source.
        source = self.target.source or (self.before.source if self.before else "")
        return self.target.replaced(input_digest="", unfinished=replaced, defaults_digest="", source=source)


class WriteRequest(Record):
    """The input of a write.

    Attributes:
        out: the output folder.
        renderings: the files that are to be in the output folder, each job whole.
        done: the names of jobs that are on disk as their ledgers list them, so that nothing was rendered of them.
        force: whether files that the user edited are replaced.
        find_committed: finds the jobs that keep their files where only this version of tfgen, or other defaults, would
            write them differently (`Ledger.stays`).
        store: stores the plan of each job, in a spool or in memory.
    """

    out: Path
    renderings: Sequence[Rendering]
    done: Collection[str]
    force: bool
    find_committed: FindCommitted
    store: Store


class JobPlans(Record):
    """The plans of the jobs that are written, in the order of the renderings.

    Attributes:
        plans: the plan of each job.
        counts: the number of files by action, for each job. The plan of a job without such an action is not read.
        repeated: the decisions that an earlier job makes too, by the index of a job. The earlier job carries them out.
        undone: the indices of the jobs whose files or ledgers on disk differ from the plan.
    """

    plans: Sequence[JobPlan]
    counts: Sequence[Mapping[FileAction, int]]
    repeated: Mapping[int, Set[FileDecision]]
    undone: Sequence[int]

    def __getitem__(self, at: int) -> JobPlan:
        return self.plans[at]

    def __iter__(self) -> Iterator[JobPlan]:
        return iter(self.plans)

    def count(self, *actions: FileAction) -> int:
        """Return the number of files with one of these actions. A file of several jobs counts for each of them."""
        return sum(counts.get(action, 0) for counts in self.counts for action in actions)

    def which(self, *actions: FileAction) -> list[int]:
        """Return the indices of the jobs that have a file with one of these actions."""
        return [at for at, counts in enumerate(self.counts) if not counts.keys().isdisjoint(actions)]

    def changes(self, *actions: FileAction) -> Iterator[list[FileChange]]:
        """Yield the changes with these actions, job by job. The first job has the changes that several jobs share."""
        return (self.changes_of(at, actions) for at in self.which(*actions))

    def changes_of(self, at: int, actions: Collection[FileAction]) -> list[FileChange]:
        """Return the changes of one job with these actions, without those that an earlier job carries out."""
        return self.plans[at].changes_by(actions, self.repeated.get(at, frozenset()))

    def paths(self, action: FileAction) -> Iterator[str]:
        """Yield the path of each file with this action once, job by job."""
        return (change.path for changes in self.changes(action) for change in changes)


class WritePlan(Record):
    """The plan of a write: the write does all of the plan, or nothing while there are conflicts.

    Attributes:
        request: the input of the plan.
        ledgers: the ledgers of all jobs below the output folder, before the write.
        jobs: the plans of the jobs that are written.
        done_files: the files of the jobs of `request.done`, job by job, each path once in the whole plan.
        kept_jobs: the jobs that keep the files of an earlier tfgen or of earlier defaults: name -> version of tfgen.
        conflicts: the paths that tfgen may not write.
        lost: the conflicts that `request.force` overrides.
        leftovers: temporary files of a render that was killed.
        recounted: the jobs whose ledger is missing, so that the number in one of their files starts again.
    """

    request: WriteRequest
    ledgers: Ledgers
    jobs: JobPlans
    done_files: Sequence[Sequence[str]]
    kept_jobs: Mapping[str, str]
    conflicts: tuple[Conflict, ...]
    lost: tuple[Conflict, ...]
    leftovers: tuple[str, ...]
    recounted: tuple[str, ...]

    @property
    def out(self) -> Path:
        """The output folder."""
        return self.request.out

    @property
    def is_done(self) -> bool:
        """Return whether the disk has all files as planned."""
        return not (self.jobs.undone or self.leftovers)

    @property
    def created(self) -> tuple[str, ...]:
        """The paths of new files, in order, each once."""
        return tuple(sorted(self.jobs.paths(FileAction.CREATE)))

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths of files that the write replaces, in order."""
        return tuple(sorted(self.jobs.paths(FileAction.CHANGE)))

    @property
    def removed(self) -> tuple[str, ...]:
        """The paths of files that the write removes, because no job renders them, in order."""
        return tuple(sorted(self.jobs.paths(FileAction.REMOVE)))

    def unchanged(self) -> Iterator[str]:
        """Yield the paths of files that have the right content already, job by job, each once."""
        return chain(self.jobs.paths(FileAction.KEEP), chain.from_iterable(self.done_files))


class Surroundings(Record):
    """The state of the disk and of other jobs that the plan of a job depends on.

    Attributes:
        ledgers: the ledgers of all jobs.
        on_disk: the state on disk of each path of the job's tree and ledger.
        final: the number of jobs that list each shared path, case folded, after the write.
        read: returns the text on disk at a path. Called only for a conflict, to name the lines that a write loses.
    """

    ledgers: Ledgers
    on_disk: Mapping[str, DiskEntry]
    final: Mapping[str, int]
    read: Callable[[str], str]

    def owner(self, path: str, job: str) -> str | None:
        """Return another job that owns the path, if any."""
        return next((another for another in self.ledgers.owners(path) if another != job), None)

    def is_kept(self, path: str, rendering: Rendering) -> bool:
        """Return whether another job still lists the path after the write."""
        return self.final.get(path.casefold(), 0) > (path.casefold() in rendering.folded_paths)

    def wrote(self, path: str, job: str) -> bool:
        """Return whether the file on disk has the digest of the job's ledger, apart from line endings."""
        ledger, entry = self.ledgers.get(job), self.on_disk[path]
        digests = (digest for digest in (entry.digest, entry.unix_digest) if digest is not None)
        return ledger is not None and any(ledger.wrote(path, digest) for digest in digests)

    def any_wrote(self, path: str, job: str) -> bool:
        """Return whether the file on disk has the digest of the ledger of any job that may own it."""
        return any(self.wrote(path, owner) for owner in {job, *self.ledgers.owners(path)})


def plan_job(rendering: Rendering, around: Surroundings, tool_version: str) -> tuple[JobPlan, tuple[Conflict, ...]]:
    """Decide the change of each path of the tree and of the ledger, with `force`.

    The conflicts list what `force` overrides.

    Args:
        rendering: The name and the files of the job.
        around: The state that the decisions depend on.
        tool_version: The version of tfgen for the ledger.
    """
    before = around.ledgers.get(rendering.job)
    rendering = rendering.following(before)
    stale = before.paths() - rendering.tree.files.keys() if before else set()
    decided = [
        *(_decide_rendered(path, rendering, around) for path in rendering.tree.files),
        *(_decide_stale(path, rendering, around) for path in sorted(stale)),
    ]
    changes = tuple(change for change, _ in decided if change)
    conflicts = tuple(conflict for _, conflict in decided if conflict)
    return JobPlan(rendering, before, rendering.ledger(tool_version), changes), conflicts


_Decision: TypeAlias = tuple[FileChange | None, Conflict | None]
"""A change, and the conflict that `force` overrides. The change is None for a conflict that `force` cannot override."""


def _decide_rendered(path: str, rendering: Rendering, around: Surroundings) -> _Decision:
    """Decide the change of a path of the tree."""
    entry, digest, is_shared = around.on_disk[path], rendering.tree.digests[path], path in rendering.shared
    if not is_shared and (another := around.owner(path, rendering.job)):
        return None, Conflict(path, f"belongs to job {another} ({ledger_path(another)})")
    if entry.obstacle:
        return None, Conflict(path, entry.obstacle)
    if entry.digest is None:
        return FileChange(path, FileAction.CREATE, tree=rendering.tree), None
    if entry.digest == digest:
        return FileChange(path, FileAction.KEEP, entry.digest, rendering.tree), None
    change = FileChange(path, FileAction.CHANGE, entry.digest, rendering.tree, entry.unix_digest)
    if entry.unix_digest == digest:
        return change, None
    if around.any_wrote(path, rendering.job) if is_shared else around.wrote(path, rendering.job):
        return change, None
    before = around.ledgers.get(rendering.job)
    text = around.read(path)
    if before and path in before.paths() and has_conflict(text):
        return change, None
    what = "edited since tfgen wrote it" if before and path in before.paths() else "not written by tfgen"
    return change, Conflict(path, what, _loss(text, rendering.tree.files[path], _REPLACE))


def _decide_stale(path: str, rendering: Rendering, around: Surroundings) -> _Decision:
    """Decide the change of a path of the ledger that is no longer in the tree."""
    entry = around.on_disk[path]
    if entry.digest is None or around.is_kept(path, rendering):
        return FileChange(path, FileAction.FORGET), None
    change = FileChange(path, FileAction.REMOVE, entry.digest, None, entry.unix_digest)
    if around.any_wrote(path, rendering.job) or has_conflict(text := around.read(path)):
        return change, None
    what = "edited since tfgen wrote it, and no longer rendered"
    return change, Conflict(path, what, _loss(text, "", _REMOVE))


_REPLACE: Final = ("replaces", "replaced")
_REMOVE: Final = ("removes", "removed")


def _loss(on_disk: str, new: str, action: tuple[str, str]) -> Loss:
    """Return the lines that a write loses: the lines of `on_disk` that are missing in `new`."""
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
