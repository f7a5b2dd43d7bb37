"""Rendered files that a merge left in conflict: the next render of their jobs writes them, and resolves the conflicts.

    merge = take_over_merge(Path("."), {"mnist"})
    ...                                     # plan and write
    merge.resolve(plan)                     # or merge.undo(), if nothing was written

After a merge, some rendered files have the content of our side, some of their side, and some are a mixture of both.
Nobody edited them, so tfgen may replace all of them. The ledger of such a job lists them in `unfinished`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path

from tfgen.errors import TfgenError
from tfgen.git import unmerged as git
from tfgen.git.under_way import is_under_way
from tfgen.places import CHARTS, OVERLAYS
from tfgen.record import Record
from tfgen.tree.disk_file import read_text, replace_text
from tfgen.tree.ledger import (
    LEDGER_FOLDER,
    Ledger,
    job_of,
    ledger_path,
    merge_ledgers,
    parse_ledger,
)
from tfgen.tree.merge_conflict import conflict_sides, has_conflict
from tfgen.tree.output_folder import OutputFolder
from tfgen.tree.plan import WritePlan

_BELOW = (CHARTS, OVERLAYS, LEDGER_FOLDER)


class MergedFiles(Record):
    """Rendered files of an unfinished merge.

    Attributes:
        out: the output folder.
        unmerged: the files with a conflict, by their paths from the output folder.
        ledgers: the texts of the replaced ledgers, before and after, by path.
    """

    out: Path
    unmerged: frozenset[str] = frozenset()
    ledgers: Mapping[str, tuple[str, str]] = {}

    def undo(self) -> None:
        """Put the ledgers back, except for a ledger that a render has written since."""
        for path, (before, after) in self.ledgers.items():
            with suppress(TfgenError):
                replace_text(self.out / path, after, before)

    def resolve(self, plan: WritePlan) -> int:
        """Stage the files of the jobs that the render wrote, and return the number of conflicts that this resolves.

        Raises:
            TfgenError: git fails.
        """
        if not self.unmerged:
            return 0
        names = {path for paths in _files_of_jobs(plan, self.unmerged) for path in paths}
        git.stage_files(self.out, names)
        return len(names & self.unmerged)


def take_over_merge(out: Path, conflicted: Collection[str]) -> MergedFiles:
    """Let the next render replace the files that a merge wrote: each ledger with a conflict then lists both sides.

    Args:
        out: the output folder.
        conflicted: the jobs whose ledgers have conflict markers.

    Raises:
        TfgenError: git or the disk fails.
    """
    unmerged = git.unmerged_files(out, _BELOW)
    is_committed = not unmerged and not is_under_way(out)
    of_ledgers = {path: sides for path, sides in unmerged.items() if path.startswith(f"{LEDGER_FOLDER}/")}
    jobs = {*conflicted, *(job for path in of_ledgers if (job := job_of(path.rpartition("/")[2])))}
    replaced = {}
    for job in sorted(jobs):
        path = ledger_path(job)
        sides = _sides(out, job, of_ledgers.get(path, {}))
        if sides is None or not (out / path).is_file():
            continue
        before = read_text(out / path)
        after = merge_ledgers(*sides, _digests_of_merge(out, sides, is_committed=is_committed)).to_text()
        replace_text(out / path, before, after)
        replaced[path] = (before, after)
    return MergedFiles(out, frozenset(unmerged), replaced)


def _sides(out: Path, job: str, stages: Mapping[int, str]) -> tuple[Ledger, Ledger] | None:
    """Return the ledger of our side and of their side.

    None if a side deleted the ledger, or is not a ledger: the file on disk is then the one that remains.
    """
    if stages:
        texts: Sequence[str] = [
            git.read_side(out, stages[stage]) for stage in (git.OURS, git.THEIRS) if stage in stages
        ]
    else:
        text = read_text(out / ledger_path(job))
        texts = conflict_sides(text) if has_conflict(text) else ()
    with suppress(TfgenError):
        ledgers = [parse_ledger(job, text) for text in texts]
        return (ledgers[0], ledgers[-1]) if ledgers else None
    return None


def _digests_of_merge(out: Path, sides: Sequence[Ledger], *, is_committed: bool) -> dict[str, str]:
    """Return the digests of the files of a job that the merge wrote, by path."""
    if not git.is_in_repository(out):
        return {}
    paths = {path for ledger in sides for path in ledger.paths()}
    written = git.files_of_merge(out, _BELOW, is_committed=is_committed) & paths
    with OutputFolder(out) as folder:
        return {path: entry.digest for path, entry in folder.survey(written).items() if entry.digest}


def _files_of_jobs(plan: WritePlan, unmerged: Set[str]) -> Iterator[set[str]]:
    """Yield the files of each job that the plan writes or that has an unmerged file, the ledger included."""
    for job in plan.jobs:
        before = job.before.paths() if job.before else set()
        paths = {ledger_path(job.rendering.job), *before, *job.target.files}
        if not job.is_done() or not unmerged.isdisjoint(paths):
            yield paths
    for name in plan.done:
        paths = {ledger_path(name), *plan.ledgers[name].files} if name in plan.ledgers else set()
        if not unmerged.isdisjoint(paths):
            yield paths
