"""What a render would do to the disk, decided without touching it.

    (a FileTree, the ledger, what was found on disk) -> changes and conflicts

The law: a byte that tfgen did not write is lost only when `force` was asked for, and is then named in `Plan.lost`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from tfgen.errors import TfgenError
from tfgen.file_tree import FileTree, digest_of
from tfgen.ledger import Ledger, ledger_path
from tfgen.record import Record


class Rendering(Record):
    """What one job was rendered to. An empty tree takes the job's files, and its ledger, away.

    Attributes:
        shared: paths of the tree that other jobs may have too; such a file goes with the last of them.
        source: the job's file, from the root of its repository.
    """

    job: str
    tree: FileTree
    input_digest: str
    defaults_digest: str = ""
    shared: frozenset[str] = frozenset()
    source: str = ""

    def ledger(self, tool_version: str) -> Ledger:
        """The job's ledger once all is written."""
        digests = {path: digest_of(text) for path, text in self.tree.files.items()}
        return Ledger(tool_version, self.input_digest, digests, None, self.defaults_digest, self.source)


class Found(Record):
    """What is on disk at a path: a file's SHA-256, or why no file can be there, or (both None) nothing."""

    digest: str | None = None
    obstacle: str | None = None


class Action(StrEnum):
    """What becomes of one path."""

    CREATE = "create"
    CHANGE = "change"
    KEEP = "keep"
    REMOVE = "remove"
    FORGET = "forget"
    """A file of an earlier render that is no longer there, nor wanted."""


class Change(Record):
    """One path's fate. `found` is the digest on disk that the decision rests on, None for no file."""

    path: str
    action: Action
    found: str | None = None
    text: str | None = None


class Conflict(Record):
    """A path that tfgen may not write; `force` takes it all the same where `can_force`."""

    path: str
    reason: str
    can_force: bool

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class ConflictsError(TfgenError):
    """The render would lose something of the user's, so nothing was written."""

    exit_code = 1  # a problem of the input's, like any other

    def __init__(self, conflicts: tuple[Conflict, ...]) -> None:
        super().__init__("\n".join(["nothing was written:", *map(str, conflicts)]))
        self.conflicts = conflicts


class JobPlan(Record):
    """The changes for one job, and its ledger before and after them."""

    rendering: Rendering
    before: Ledger | None
    target: Ledger
    changes: tuple[Change, ...]

    @property
    def after(self) -> Ledger | None:
        """The ledger in the end: none for a job that has no file left."""
        return self.target if self.target.files else None

    def touches_files(self) -> bool:
        """Whether any file is to be written, removed or forgotten."""
        return any(change.action is not Action.KEEP for change in self.changes)

    def intent(self) -> Ledger:
        """The ledger while the files are written: both what is to be and what it replaces are tfgen's own.

        A file that is overridden by force is not listed with the user's content: if the render is killed before
        it got there, the user's file still stands, and it takes another `force` to lose it.
        """
        replaced = {}
        for change in self.changes:
            if self.before is None or change.action in (Action.KEEP, Action.CREATE):
                continue
            if change.found is not None and self.before.wrote(change.path, change.found):
                replaced[change.path] = change.found
            elif (last := self.before.last_finished(change.path)) is not None:
                replaced[change.path] = last
        return Ledger(self.target.tool_version, "", self.target.files, replaced, source=self.target.source)


class Plan(Record):
    """What writing some renderings to `out` does: all of it, or nothing while there are conflicts."""

    out: Path
    force: bool
    upgrade: bool
    ledgers: Mapping[str, Ledger]
    """Job -> ledger, of every job below `out`, as this plan found them."""
    jobs: tuple[JobPlan, ...]
    kept: tuple[Rendering, ...]
    """Jobs that stay as an earlier tfgen, or earlier defaults, made them."""
    conflicts: tuple[Conflict, ...]
    lost: tuple[Conflict, ...]
    """What `force` overrides: what each of these says is lost."""
    leftovers: tuple[str, ...]
    """Temporary files of a render that was killed."""

    @property
    def created(self) -> tuple[str, ...]:
        """Paths of files that are to be made, in order, each once."""
        return self._paths(Action.CREATE)

    @property
    def changed(self) -> tuple[str, ...]:
        """Paths of files that are to be replaced."""
        return self._paths(Action.CHANGE)

    @property
    def unchanged(self) -> tuple[str, ...]:
        """Paths of files that have the right content already."""
        return self._paths(Action.KEEP)

    @property
    def removed(self) -> tuple[str, ...]:
        """Paths of files that are no longer rendered and are to go."""
        return self._paths(Action.REMOVE)

    def is_done(self) -> bool:
        """Whether the disk is as it should be already, ledgers included."""
        return not self.leftovers and all(not job.touches_files() and job.before == job.after for job in self.jobs)

    def changes(self) -> Iterator[Change]:
        """The changes of all jobs."""
        return (change for job in self.jobs for change in job.changes)

    def _paths(self, action: Action) -> tuple[str, ...]:
        return tuple(sorted({change.path for change in self.changes() if change.action is action}))


def owners(ledgers: Mapping[str, Ledger]) -> dict[str, tuple[str, ...]]:
    """Path, case folded, -> the jobs that have it in their ledgers: one, unless a merge of branches made it two."""
    jobs: dict[str, tuple[str, ...]] = {}
    for job, ledger in sorted(ledgers.items()):
        for path in ledger.paths():
            jobs[path.casefold()] = (*jobs.get(path.casefold(), ()), job)
    return jobs


def plan_job(
    rendering: Rendering,
    before: Ledger | None,
    tool_version: str,
    owned: Mapping[str, tuple[str, ...]],
    found: Mapping[str, Found],
    read: Callable[[str], str],
    others: Sequence[Ledger],
    final: Mapping[str, int],
) -> tuple[JobPlan, tuple[Conflict, ...]]:
    """Decides each path of the tree and of the ledger, as `force` would have it; conflicts say what that overrides.

    Args:
        rendering: The job's name and files.
        before: The job's ledger, if it has one.
        tool_version: Goes to the ledger.
        owned: What `owners` gives for all ledgers.
        found: What is on disk, for each path of the tree and of the ledger.
        read: The text on disk at a path; asked for only where a conflict has to say what is lost.
        others: The ledgers of all other jobs.
        final: How many jobs have each path, case folded, in the end.
    """
    changes: list[Change] = []
    conflicts: list[Conflict] = []
    tree = rendering.tree.files
    target = rendering.ledger(tool_version)

    def owner(path: str) -> str | None:
        return next((job for job in owned.get(path.casefold(), ()) if job != rendering.job), None)

    def is_ours(path: str, digest: str) -> bool:
        known = [before, *(others if path in rendering.shared else ())]
        return any(ledger is not None and ledger.wrote(path, digest) for ledger in known)

    own = {path.casefold() for path in tree}

    def is_kept(path: str) -> bool:
        return final.get(path.casefold(), 0) > (path.casefold() in own)

    for path, text in tree.items():
        here = found[path]
        if path not in rendering.shared and (other := owner(path)):
            conflicts.append(Conflict(path, f"belongs to job {other} ({ledger_path(other)})", can_force=False))
        elif here.obstacle:
            conflicts.append(Conflict(path, here.obstacle, can_force=False))
        elif here.digest is None:
            changes.append(Change(path, Action.CREATE, None, text))
        elif here.digest == target.files[path]:
            changes.append(Change(path, Action.KEEP, here.digest, text))
        else:
            changes.append(Change(path, Action.CHANGE, here.digest, text))
            if is_ours(path, here.digest):
                continue
            if before is None or path not in before.paths():
                reason = f"not written by tfgen; --force replaces it, and {_loss(read(path), text)}"
                conflicts.append(Conflict(path, reason, can_force=True))
            else:
                reason = f"edited since tfgen wrote it; --force replaces it, and {_loss(read(path), text)}"
                conflicts.append(Conflict(path, reason, can_force=True))

    stale = before.paths() - tree.keys() if before else set()
    for path in sorted(stale):
        here = found[path]
        if here.digest is None or is_kept(path):
            changes.append(Change(path, Action.FORGET))
            continue
        changes.append(Change(path, Action.REMOVE, here.digest))
        if not (before and before.wrote(path, here.digest)) and not any(o.wrote(path, here.digest) for o in others):
            reason = (
                f"edited since tfgen wrote it, and no longer rendered; --force removes it, and {_loss(read(path), '')}"
            )
            conflicts.append(Conflict(path, reason, can_force=True))

    return JobPlan(rendering, before, target, tuple(changes)), tuple(conflicts)


def _loss(on_disk: str, new: str) -> str:
    """What replacing `on_disk` by `new` loses: lines that the new text does not have."""
    rest = Counter(new.splitlines())
    gone = []
    for number, line in enumerate(on_disk.splitlines(), start=1):
        if rest[line]:
            rest[line] -= 1
        elif line.strip():
            gone.append((number, line.strip()))
    if not gone:
        return "no line of it is lost, but lines that were taken out or moved come back"
    (number, line), more = gone[0], len(gone) - 1
    others = f" and {more} more {'line' if more == 1 else 'lines'}" if more else ""
    return f"line {number} {line[:60]!r}{others} {'are' if more else 'is'} lost"
