"""Current jobs compared with their committed versions.

    compare(checked, "HEAD")  ->  Comparison(problems=(Problem(... "new-run"),), pairs=(PairPlaces(...),), notes=())

A job is compared with the job of the same name in the committed version of its file. If that version does not contain
the job, tfgen looks for the job in the committed versions of the other files, because a job may move to another file.
The last step searches all files of the repository that differ from the commit, so that the comparison finds a moved job
even if the caller does not pass the former file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from tfgen.change.new_run import Runs, earlier_runs, environments_enabled_again, find_new_runs, find_runs_back
from tfgen.check.checked import CachedFile, Checked, read_cached_files
from tfgen.check.jobs import check_all
from tfgen.errors import Problem, has_errors, in_order
from tfgen.git import command
from tfgen.git.tree import DISK, CommitTree, Tree, by_repository
from tfgen.graph.graph import BuiltJob, build
from tfgen.job.facts import environments_of, name_of, own_data, run_of
from tfgen.job.sources import JobPlace, Source, has_job, has_name_of_job, read_files, text_has_job
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.workers import map_items

FindCached: TypeAlias = Callable[[Sequence[Source]], Mapping[str, CachedFile]]
"""A function that takes job files, and returns the cached check results by file name. An uncached file has no entry."""


class Pair(Record):
    """The committed version and the current version of a job.

    Attributes:
        before: committed version; None for a new job.
        after: current version; None for a removed job.
        earlier_runs: environment and run name of each earlier run of the job, such as ("prod", "2"). The environment is
            None for a run of the job itself. The list is empty unless the run name changes or an environment is enabled
            again.
    """

    before: Document | None
    after: Document | None
    earlier_runs: Runs = ()

    @property
    def name(self) -> str:
        """Return the name of the job."""
        document = self.after or self.before
        return name_of(document) if document else ""

    @cached_property
    def built_before(self) -> BuiltJob | None:
        """The objects of the committed version; None for a new job."""
        return build(self.before.data) if self.before else None

    @cached_property
    def built_after(self) -> BuiltJob | None:
        """The objects of the current version; None for a removed job."""
        return build(self.after.data) if self.after else None

    @property
    def new_runs(self) -> Iterator[Problem]:
        """Yield a problem for each change that needs a new run; nothing for an unchanged job."""
        if self.before and self.after and not self.has_same_text:
            yield from find_new_runs(self.before, self.after, self.built_before, self.built_after)
            yield from find_runs_back(self.before, self.after, self.earlier_runs)

    @property
    def has_same_text(self) -> bool:
        """Return True if both versions of the job are equal. Values from the layers of the job are ignored."""
        if self.before is None or self.after is None:
            return False
        return self.before is self.after or own_data(self.before) == own_data(self.after)


class PairPlaces(Record):
    """The locations of the committed version and of the current version of a job. `read` loads both versions.

    Attributes:
        before: location of the committed version; None for a new job.
        after: location of the current version; None for a removed job.
        revision: revision of the committed version.
    """

    before: JobPlace | None
    after: JobPlace | None
    revision: str

    @property
    def name(self) -> str:
        """Return the name of the job."""
        place = self.after or self.before
        return place.name if place else ""

    @property
    def is_unchanged(self) -> bool:
        """Return True if the job file and all layers are unchanged."""
        return self.before is self.after

    @property
    def has_same_content(self) -> bool:
        """Return True if both versions have the same position in files with equal contents.

        The paths and the layers of the two files may differ.
        """
        before, after = self.before, self.after
        return bool(before and after and before.at == after.at and before.source.has_same_content(after.source))

    def read(self) -> Pair:
        """Read both versions of the job.

        Raises:
            TfgenError: the job file cannot be read (as in `Source.read`), or git fails.
        """
        after = self.after.read() if self.after else None
        if self.is_unchanged:
            return Pair(after, after)
        before = self.before.read() if self.before else None
        pair = Pair(before, after)
        if before is None or after is None or pair.has_same_text:
            return pair
        names = (None, *(name for name in environments_of(after) if name in environments_of(before)))
        are_runs_equal = all(run_of(before.data, name) == run_of(after.data, name) for name in names)
        if are_runs_equal and not any(environments_enabled_again(before, after)):
            return pair
        return pair.replaced(earlier_runs=earlier_runs(before, after, self.revision))


class Pairs(Record):
    """The result of `pair_jobs`: the current jobs and the removed jobs, each with its committed version.

    Attributes:
        pairs: locations of both versions of each job, including new jobs and removed jobs.
        notes: messages about jobs that tfgen cannot compare, with the reason.
    """

    pairs: tuple[PairPlaces, ...]
    notes: tuple[str, ...]


class Comparison(Record):
    """The result of `compare`: jobs with their committed versions, and the problems that the changes cause.

    Attributes:
        problems: problems in the order of the files.
        pairs: locations of both versions, for each job that exists in the commit and on disk.
        unpaired: location of each new job and of each removed job.
        notes: messages about jobs that tfgen cannot compare, with the reason.
    """

    problems: tuple[Problem, ...]
    pairs: tuple[PairPlaces, ...]
    unpaired: tuple[PairPlaces, ...]
    notes: tuple[str, ...]


def compare(
    checked: Checked, revision: str, find_cached: FindCached = read_cached_files, tree: Tree = DISK
) -> Comparison:
    """Compare each changed job with its committed version. Jobs in files with errors are skipped.

    Args:
        checked: current jobs.
        revision: revision of the committed versions.
        find_cached: function that takes committed job files, and returns the cached check results by file name.
        tree: version of the current jobs.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git fails.
    """
    matched = pair_jobs(checked, revision, find_cached=find_cached, tree=tree)
    pairs = tuple(pair for pair in matched.pairs if pair.before and pair.after)
    problems = map_items(_new_runs, [pair for pair in pairs if not pair.is_unchanged])
    unpaired = tuple(pair for pair in matched.pairs if not (pair.before and pair.after))
    return Comparison(in_order(chain.from_iterable(problems)), pairs, unpaired, matched.notes)


def _new_runs(pair: PairPlaces) -> tuple[Problem, ...]:
    return () if pair.has_same_content else tuple(pair.read().new_runs)


def pair_jobs(
    checked: Checked,
    revision: str,
    gone: Sequence[str] = (),
    find_cached: FindCached = read_cached_files,
    tree: Tree = DISK,
) -> Pairs:
    """Pair each job with its committed version, and add the removed jobs. Jobs in files with errors are skipped.

    Args:
        checked: current jobs.
        revision: revision of the committed versions.
        gone: job files that exist in the revision, but no longer on disk.
        find_cached: function that takes committed job files, and returns the cached check results by file name.
        tree: version of the current jobs.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git fails.
    """
    notes = [] if command.is_installed() else ["git is not on the PATH, so tfgen compares no job with the last commit"]
    now = {
        file.source.file: _places(file.source, (record.job for record in file.result.records))
        for file in checked.valid_files
        if not file.is_cached
    }
    earlier_files = read_files([*now, *gone], CommitTree(revision))
    identities = {source.file: source.identity for source in checked.sources}
    unchanged = {earlier.file for earlier in earlier_files if earlier.identity == identities.get(earlier.file)}
    changed = [earlier for earlier in earlier_files if earlier.file not in unchanged]
    names: dict[str, tuple[str, ...] | None] = {
        file: tuple(record.job for record in cached.records) for file, cached in find_cached(changed).items()
    }
    uncached = [earlier for earlier in changed if earlier.file not in names]
    names |= zip((earlier.file for earlier in uncached), map_items(_committed_jobs, uncached), strict=True)
    committed = {
        earlier.file: None if (jobs := names[earlier.file]) is None else _places(earlier, jobs) for earlier in changed
    }
    before: dict[tuple[str, str], JobPlace] = {}
    for earlier in earlier_files:
        places = now[earlier.file] if earlier.file in unchanged else committed[earlier.file]
        if places is None:
            notes.append(f"{earlier.file} has errors in {revision}, so tfgen does not compare the file with {revision}")
            continue
        before |= {(earlier.file, place.name): place for place in places}
    if missing := {place.name for places in now.values() for place in places} - {name for _, name in before}:
        before |= {(place.source.file, place.name): place for place in _former_places(now, missing, revision, tree)}
    return Pairs(tuple(_match(tuple(chain.from_iterable(now.values())), before, revision)), tuple(notes))


def _former_places(files: Iterable[str], jobs: Collection[str], revision: str, tree: Tree) -> Iterator[JobPlace]:
    """Yield the location of each committed job with one of the names, in the files that no longer contain the job.

    Args:
        files: current job files, in the repositories that the function searches.
        jobs: names of the jobs.
        revision: revision of the commit.
        tree: version of the current files.
    """
    changed = (root / name for root in by_repository(map(Path, files)) for name in tree.changed(root, revision))
    names = sorted(os.path.relpath(path) for path in changed if has_name_of_job(path))
    for source in read_files(names, CommitTree(revision)):
        text = source.text()
        if isinstance(text, str) and any(text_has_job(text, job) for job in jobs):
            for place in _places(source, _committed_jobs(source) or ()):
                if place.name in jobs and not has_job(Path(source.file), place.name, tree):
                    yield place


def _places(source: Source, jobs: Iterable[str]) -> tuple[JobPlace, ...]:
    return tuple(JobPlace(source, at, job) for at, job in enumerate(jobs))


def _committed_jobs(source: Source) -> tuple[str, ...] | None:
    """Return the names of the jobs in a committed file; None for a file with errors."""
    checked = check_all([source], is_guarded=False)
    return None if has_errors(checked.problems) else tuple(record.job for record in checked.files[0].result.records)


def _match(
    after: Sequence[JobPlace], before: Mapping[tuple[str, str], JobPlace], revision: str
) -> Iterator[PairPlaces]:
    """Yield each current job with its committed version, and then the removed jobs.

    The committed version may be in a different file than the current job.

    Args:
        after: current jobs.
        before: committed jobs, by file and job name. Example of a key: ("ads/job.yaml", "mnist").
        revision: revision of the committed jobs.
    """
    files: dict[str, list[str]] = {}
    for file, name in before:
        files.setdefault(name, []).append(file)
    taken = {(place.source.file, place.name) for place in after} & before.keys()
    for place in after:
        file = place.source.file
        if (file, place.name) not in before:
            former_files = (former for former in files.get(place.name, ()) if (former, place.name) not in taken)
            file = next(former_files, file)
        taken.add((file, place.name))
        yield PairPlaces(before.get((file, place.name)), place, revision)
    yield from (PairPlaces(place, None, revision) for key, place in before.items() if key not in taken)
