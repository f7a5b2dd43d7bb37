"""Jobs as they are, against what git has of them.

    compare(checked, "HEAD")  ->  Comparison(problems=(Problem(... "new-run"),), pairs=(Pair(...),), notes=())

A job is compared with the one of the same name in the committed version of its own file, or, if that has none, of
another of the files: a job may move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from tfgen.change.committed import with_committed
from tfgen.change.new_run import environments_enabled_again, find_new_runs
from tfgen.change.run_back import Runs, earlier_runs, find_runs_back
from tfgen.check.checked import Checked, CheckedFile
from tfgen.check.jobs import check_all
from tfgen.git import command
from tfgen.job.documents import JobPlace
from tfgen.job.facts import environments_of, name_of, own_data, run_of
from tfgen.job.sources import Source
from tfgen.problems import Problem, has_errors, in_order
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.workers import map_items


class Pair(Record):
    """A job as it was and as it is; None where it is new, or gone.

    Attributes:
        earlier_runs: those that it had once, where its run is another one now, or an environment is enabled again.
    """

    before: Document | None
    after: Document | None
    earlier_runs: Runs = ()

    @property
    def name(self) -> str:
        """The job's name."""
        one = self.after or self.before
        return name_of(one) if one else ""

    @property
    def new_runs(self) -> Iterator[Problem]:
        """The changes that need a new run; none for a job that stays as it is committed."""
        if self.before and self.after and not self.stays:
            yield from find_new_runs(self.before, self.after)
            yield from find_runs_back(self.before, self.after, self.earlier_runs)

    @property
    def stays(self) -> bool:
        """Whether the job's own file says the same. A change of the team's defaults waits for the job's next change."""
        if self.before is None or self.after is None:
            return False
        return self.before is self.after or own_data(self.before) == own_data(self.after)


class PairPlaces(Record):
    """Where a job is as it was and as it is; None where it is new, or gone. Of many jobs few are in memory at once.

    Attributes:
        revision: where it was.
    """

    before: JobPlace | None
    after: JobPlace | None
    revision: str

    @property
    def name(self) -> str:
        """The job's name."""
        one = self.after or self.before
        return one.name if one else ""

    @property
    def is_same(self) -> bool:
        """Whether the job's file is as it was, with all defaults under it."""
        return self.before is self.after

    def read(self) -> Pair:
        """The job as it was and as it is. Raises as `Source.read` does, and where git fails."""
        after = self.after.read() if self.after else None
        if self.is_same:
            return Pair(after, after)
        return _with_history(Pair(self.before.read() if self.before else None, after), self.revision)


class Pairs(Record):
    """Jobs beside their committed versions. Notes say why a job has none, where its user could expect one."""

    pairs: tuple[PairPlaces, ...]
    notes: tuple[str, ...]


class Comparison(Record):
    """Jobs that have a committed version, and what their changes break.

    Attributes:
        problems: in order.
        pairs: the jobs that have a committed version.
        notes: why others have none, where their user could expect one.
    """

    problems: tuple[Problem, ...]
    pairs: tuple[PairPlaces, ...]
    notes: tuple[str, ...]


def compare(checked: Checked, revision: str) -> Comparison:
    """Compare each job of the files that have no errors, but for those of which nothing has changed.

    Raises:
        UsageError: there is no such revision.
        TfgenError: git fails.
    """
    matched = pair_jobs(checked, revision)
    both = tuple(pair for pair in matched.pairs if pair.before and pair.after)
    problems = map_items(_new_runs, [pair for pair in both if not pair.is_same])
    return Comparison(in_order(chain.from_iterable(problems)), both, matched.notes)


def _new_runs(pair: PairPlaces) -> tuple[Problem, ...]:
    return tuple(pair.read().new_runs)


def pair_jobs(checked: Checked, revision: str, gone: Sequence[str] = ()) -> Pairs:
    """Each job of the files that were read and have no errors beside the committed one, and those that are gone.

    Args:
        checked: the jobs as they are.
        revision: where the others are.
        gone: files that are committed there, and no longer here.

    Raises:
        UsageError: there is no such revision.
        TfgenError: git fails.
    """
    notes = [] if command.is_installed() else ["git is not on the PATH, so nothing is compared with the last commit"]
    now = {file.source.file: _places(file.source, _jobs(file)) for file in checked.whole_files if not file.is_cached}
    of_files = [*with_committed(checked.sources, [*now, *gone], revision)]
    is_same = [source is not None and source.identity == earlier.identity for source, earlier in of_files]
    changed = [earlier for (_, earlier), same in zip(of_files, is_same, strict=True) if not same]
    as_they_were = {
        earlier.file: None if jobs is None else _places(earlier, jobs)
        for earlier, jobs in zip(changed, map_items(_committed_jobs, changed), strict=True)
    }
    before: dict[tuple[str, str], JobPlace] = {}
    for (_, earlier), same in zip(of_files, is_same, strict=True):
        places = now[earlier.file] if same else as_they_were[earlier.file]
        if places is None:
            notes.append(f"{earlier.file} has errors in {revision}, so it is not compared with that")
            continue
        before |= {(earlier.file, place.name): place for place in places}
    return Pairs(tuple(_match(tuple(chain.from_iterable(now.values())), before, revision)), tuple(notes))


def _places(source: Source, jobs: Iterable[str]) -> tuple[JobPlace, ...]:
    return tuple(JobPlace(source, at, job) for at, job in enumerate(jobs))


def _jobs(file: CheckedFile) -> tuple[str, ...]:
    """The names of the jobs in a file without errors."""
    return tuple(record.job for record in file.result.records)


def _committed_jobs(source: Source) -> tuple[str, ...] | None:
    """The names of the jobs in a committed file. None where it has errors."""
    checked = check_all([source], is_guarded=False)
    return None if has_errors(checked.problems) else _jobs(checked.files[0])


def _match(
    after: Sequence[JobPlace], before: Mapping[tuple[str, str], JobPlace], revision: str
) -> Iterator[PairPlaces]:
    """Each job beside its committed version: that of its own file, or else of another, and then those that are gone.

    Args:
        after: the jobs as they are.
        before: the committed ones, by file and name.
        revision: where those are.
    """
    files: dict[str, list[str]] = {}
    for file, name in before:
        files.setdefault(name, []).append(file)
    taken = {(place.source.file, place.name) for place in after} & before.keys()
    for place in after:
        file = place.source.file
        if (file, place.name) not in before:
            file = next((other for other in files.get(place.name, ()) if (other, place.name) not in taken), file)
        taken.add((file, place.name))
        yield PairPlaces(before.get((file, place.name)), place, revision)
    yield from (PairPlaces(place, None, revision) for key, place in before.items() if key not in taken)


def _with_history(pair: Pair, revision: str) -> Pair:
    """The pair with the job's earlier runs, which count only where its run changes, or where it is enabled again."""
    if pair.before is None or pair.after is None or pair.stays:
        return pair
    names = (None, *(name for name in environments_of(pair.after) if name in environments_of(pair.before)))
    is_same = all(run_of(pair.before.data, name) == run_of(pair.after.data, name) for name in names)
    if is_same and not any(environments_enabled_again(pair.before, pair.after)):
        return pair
    return pair.replaced(earlier_runs=earlier_runs(pair.before, revision))
