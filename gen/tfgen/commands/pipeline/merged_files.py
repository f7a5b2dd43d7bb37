"""Resolve git merge conflicts in rendered files: render the files again, and stage the result.

    merge = take_over_merge(Path("."), {"mnist"})
    ...                                     # plan and write
    merge.resolve(plan)                     # or merge.undo(), if nothing was written

After a merge, a rendered file has the content of one branch, or a mixture of the two branches. Nobody edited these
files by hand, so tfgen may replace the files. `take_over_merge` therefore lists the files of both branches in the
ledger.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from pathlib import Path

from tfgen.disk_file import read_text, replace_text
from tfgen.errors import TfgenError
from tfgen.git import merge as git
from tfgen.places import CHARTS, OVERLAYS
from tfgen.record import Record
from tfgen.tree.folder import OutputFolder
from tfgen.tree.ledger import LEDGER_FOLDER, Ledger, conflict_sides, job_of, ledger_path, merge_ledgers, parse_ledger
from tfgen.tree.plan import WritePlan

_FOLDERS = (CHARTS, OVERLAYS, LEDGER_FOLDER)


class MergedFiles(Record):
    """The rendered files of a merge with conflicts.

    Attributes:
        out: the output folder.
        unmerged: the files with a conflict, as paths from the output folder.
        ledgers: for each ledger that `take_over_merge` replaced, the text before and the text after the replacement, by
            the path of the ledger.
    """

    out: Path
    unmerged: frozenset[str] = frozenset()
    ledgers: Mapping[str, tuple[str, str]] = {}

    def undo(self) -> None:
        """Restore the ledgers that `take_over_merge` replaced.

        A ledger that a later render wrote remains unchanged.
        """
        for path, (before, after) in self.ledgers.items():
            with suppress(TfgenError):
                replace_text(self.out / path, after, before)

    def resolve(self, plan: WritePlan) -> int:
        """Stage the files of the rendered jobs in git, and return the number of resolved conflicts.

        Raises:
            TfgenError: git fails.
        """
        if not self.unmerged:
            return 0
        names = {path for paths in _files_of_jobs(plan, self.unmerged) for path in paths}
        git.stage_files(self.out, names)
        return len(names & self.unmerged)


def take_over_merge(out: Path, conflicted: Collection[str]) -> MergedFiles:
    """Merge each ledger that has a conflict, so that the ledger lists the files of both branches.

    The next render may then replace all these files.

    Args:
        out: the output folder.
        conflicted: the names of the jobs whose ledgers have conflict markers.

    Raises:
        TfgenError: git or the disk fails, or a version of a ledger in the conflict is invalid.
    """
    unmerged = git.unmerged_files(out, _FOLDERS)
    stages = {job: versions for path, versions in unmerged.items() if (job := _job_of(path))}
    jobs = [job for job in sorted({*conflicted, *stages}) if (out / ledger_path(job)).is_file()]
    written = _written_by_merge(out, is_committed=not unmerged and not git.is_under_way(out)) if jobs else frozenset()
    ledgers = {}
    for job in jobs:
        before = read_text(out / ledger_path(job))
        ours, theirs = _ledger_versions(out, job, before, stages.get(job, {}))
        digests = _digests(out, written & (ours.paths() | theirs.paths()))
        ledgers[ledger_path(job)] = (before, merge_ledgers(ours, theirs, digests).to_text())
    for path, (before, after) in ledgers.items():
        replace_text(out / path, before, after)
    return MergedFiles(out, frozenset(unmerged), ledgers)


def _job_of(path: str) -> str | None:
    """Return the name of the job whose ledger has the path `path`. For a file that is not a ledger, return None."""
    folder, _, name = path.rpartition("/")
    return job_of(name) if folder == LEDGER_FOLDER else None


def _ledger_versions(out: Path, job: str, text: str, stages: Mapping[int, str]) -> tuple[Ledger, Ledger]:
    """Return the two versions of a job's ledger in a merge: of the current branch, and of the merged branch.

    If one branch deleted the ledger, return the ledger of the other branch twice.

    Args:
        out: the output folder.
        job: the name of the job.
        text: the ledger on disk, with conflict markers.
        stages: the git ids of the versions, by the stage in the git index. Example: {2: "3b18e5", 3: "9daeaf"}, with 2
            for the current branch and 3 for the merged branch. If the mapping is empty, the function reads both
            versions from `text`.

    Raises:
        TfgenError: a version is not a valid ledger.
    """
    versions = [git.read_version(out, stages[stage]) for stage in (git.OURS, git.THEIRS) if stage in stages]
    texts = versions or conflict_sides(text)
    return parse_ledger(job, texts[0]), parse_ledger(job, texts[-1])


def _written_by_merge(out: Path, *, is_committed: bool) -> frozenset[str]:
    """Return the paths, from the output folder, of the rendered files that a merge wrote.

    `is_committed` is true if the merge is already a commit.
    """
    return git.files_of_merge(out, _FOLDERS, is_committed=is_committed) if git.is_in_repository(out) else frozenset()


def _digests(out: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return the digest of each file on disk, by the path of the file. Missing files are left out."""
    with OutputFolder(out) as folder:
        return {path: entry.digest for path, entry in folder.states(paths).items() if entry.digest}


def _files_of_jobs(plan: WritePlan, unmerged: Set[str]) -> Iterator[set[str]]:
    """Yield the paths of all files of a job, for each job whose files tfgen must stage after the merge.

    Such a job is a job that the plan changes, or a job with a file in `unmerged`.
    """
    for job in plan.jobs:
        before = job.before.paths() if job.before else set()
        paths = {ledger_path(job.rendering.job), *before, *job.target.files}
        if not job.is_done() or not unmerged.isdisjoint(paths):
            yield paths
    for name in plan.request.done:
        paths = {ledger_path(name), *plan.ledgers[name].files} if name in plan.ledgers else set()
        if not unmerged.isdisjoint(paths):
            yield paths
