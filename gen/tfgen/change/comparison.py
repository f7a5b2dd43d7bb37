"""Jobs as they are, against what git has of them.

    compare(checked, "HEAD")  ->  Comparison(problems=(Problem(... "new-run"),), pairs=(Pair(...),), notes=())

A job is compared with the one of the same name in the committed version of its own file, or, if that has none, of
another of the files: a job may move.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfgen.change.committed import with_committed
from tfgen.change.new_run import environments_enabled_again, find_new_runs
from tfgen.change.run_back import Runs, earlier_runs, find_runs_back
from tfgen.check.checked import Checked
from tfgen.check.jobs import check_all
from tfgen.git import command
from tfgen.job.facts import environments_of, name_of, own_data, run_of
from tfgen.problems import Problem, has_errors, in_order
from tfgen.record import Record
from tfgen.text.document import Document


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


class Pairs(Record):
    """Jobs beside their committed versions. Notes say why a job has none, where its user could expect one."""

    pairs: tuple[Pair, ...]
    notes: tuple[str, ...]


class Comparison(Record):
    """Jobs that have a committed version, and what their changes break.

    Attributes:
        problems: in order.
        pairs: the jobs that have a committed version.
        notes: why others have none, where their user could expect one.
    """

    problems: tuple[Problem, ...]
    pairs: tuple[Pair, ...]
    notes: tuple[str, ...]


def compare(checked: Checked, revision: str) -> Comparison:
    """Compare each job of the files that have no errors.

    Raises:
        UsageError: there is no such revision.
        TfgenError: git fails.
    """
    matched = pair_jobs(checked, revision)
    both = tuple(pair for pair in matched.pairs if pair.before and pair.after)
    problems = in_order(problem for pair in both for problem in pair.new_runs)
    return Comparison(problems, both, matched.notes)


def pair_jobs(checked: Checked, revision: str, gone: Sequence[str] = ()) -> Pairs:
    """Each job of the files that have no errors beside the one that is committed, and those that are no more.

    Args:
        checked: the jobs as they are.
        revision: where the others are.
        gone: files that are committed there, and no longer here.

    Raises:
        UsageError: there is no such revision.
        TfgenError: git fails.
    """
    notes = (
        [] if command.is_installed() else ["there is no git on the PATH, so nothing is compared with what is committed"]
    )
    after = checked.whole
    before: dict[tuple[str, str], Document] = {}
    for source, earlier in with_committed(checked.sources, [*(document.file for document in after), *gone], revision):
        if source and source.identity == earlier.identity:
            documents = [document for document in after if document.file == earlier.file]
        else:
            as_it_was = check_all([earlier], is_guarded=False)
            documents = [*as_it_was.documents]
            if has_errors(as_it_was.problems):
                notes.append(f"{earlier.file} has errors in {revision}, so it is not compared with that")
                continue
        before |= {(earlier.file, name_of(document)): document for document in documents}
    matched = []
    taken = {(document.file, name_of(document)) for document in after} & before.keys()
    for document in after:
        key = (document.file, name_of(document))
        if key not in before:
            key = next((other for other in before if other[1] == key[1] and other not in taken), key)
        taken.add(key)
        matched.append(_with_history(Pair(before.get(key), document), revision))
    matched += [Pair(document, None) for key, document in before.items() if key not in taken]
    return Pairs(tuple(matched), tuple(notes))


def _with_history(pair: Pair, revision: str) -> Pair:
    """The pair with the job's earlier runs, which count only where its run changes, or where it is enabled again."""
    if pair.before is None or pair.after is None or pair.stays:
        return pair
    names = (None, *(name for name in environments_of(pair.after) if name in environments_of(pair.before)))
    is_same = all(run_of(pair.before.data, name) == run_of(pair.after.data, name) for name in names)
    if is_same and not any(environments_enabled_again(pair.before, pair.after)):
        return pair
    return pair.replaced(earlier_runs=earlier_runs(pair.before, revision))
