"""What `tfgen render` does: the files of jobs, without those of removed jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfgen.check.jobs import check_all
from tfgen.commands.known_files import find_known
from tfgen.commands.removed_jobs import find_removed_jobs
from tfgen.errors import UsageError
from tfgen.job.facts import rendered_branch
from tfgen.job.output_root import output_root_of
from tfgen.job.sources import no_job_below, read_sources
from tfgen.problems import Problem, has_errors, in_order
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.tree.plan import WritePlan
from tfgen.tree.write import apply, plan_write, read_ledgers

if TYPE_CHECKING:
    from tfgen.commands.rendered_job import RenderedJob

    Track = Callable[[Iterable[RenderedJob], int], Iterator[RenderedJob]]
    """Hands the jobs on as they are rendered; it is told how many there are."""


class Written(Record):
    """What came of it.

    Attributes:
        plan: what was written; none where there are errors.
        jobs: how many jobs there are.
        unchanged: the files of those that did not have to be rendered.
    """

    problems: tuple[Problem, ...]
    plan: WritePlan | None = None
    jobs: int = 0
    unchanged: tuple[str, ...] = ()


def render_paths(
    paths: Sequence[Path], out: Path | None, *, force: bool = False, upgrade: bool = False, track: Track
) -> Written:
    """Write all files of the jobs in some files and folders, and remove those of jobs that are there no more.

    A job of which nothing has changed is not rendered. Nothing is written where a job has errors.

    Args:
        paths: the files and folders.
        out: the output folder; by default where the files of the jobs are.
        force: whether files that were edited by hand are replaced.
        upgrade: whether a job is rendered anew where only tfgen or the defaults under it changed.
        track: what is told of each job.

    Raises:
        UsageError: a path cannot be read, no output folder follows from them, a job keeps its files in another branch,
            or there is no job and none was removed.
        ConflictsError: a file was edited by hand, and it is not `force`.
        TfgenError: the disk fails.
    """
    sources = read_sources(paths, may_be_none=True)
    is_beside = out is None
    out = out or output_root_of(paths, (source.file for source in sources))
    known = find_known(sources, out)
    checked = check_all(sources, {name: file.records for name, file in known.items()})
    unchanged = [known[file.source.file] for file in checked.files if file.is_known]
    problems = [*checked.problems, *(problem for file in unchanged for problem in file.of_rules)]
    if has_errors(problems):
        return Written(in_order(problems))
    documents = checked.documents
    if is_beside:
        _check_place(documents)
    results = [*track(_render(documents), len(documents))]
    problems += (problem for result in results for problem in result.weighed.problems)
    problems += (problem for file in unchanged for problem in file.of_objects)
    if has_errors(problems):
        return Written(in_order(problems))
    renderings = [result.rendering for result in results]
    jobs = {record.job for file in checked.files for record in file.records}
    removals = find_removed_jobs(read_ledgers(out), paths, jobs)
    if not jobs and not removals:
        raise no_job_below(paths)
    plan = apply(plan_write(out, [*renderings, *removals], force=force, upgrade=upgrade))
    if results:
        from tfgen.commands.keep_files import keep_files  # 60 ms, which files that are known need not pay

        keep_files(checked, results, plan)
    return Written(in_order(problems), plan, len(jobs), tuple(path for file in unchanged for path in file.paths))


def _render(documents: Sequence[Document]) -> Iterable[RenderedJob]:
    if not documents:
        return ()
    from tfgen.commands.rendered_job import render_jobs  # 60 ms, which files that are known need not pay

    return render_jobs(documents)


def _check_place(documents: Iterable[Document]) -> None:
    """See that charts/ and overlays/ of some jobs are kept beside them.

    Raises:
        UsageError: they are kept in a branch of their own.
    """
    for document in documents:
        if branch := rendered_branch(document):
            raise UsageError(
                f"{document.file}: charts/ and overlays/ are kept in the branch {branch} (gitops.rendered), which "
                "tfgen commit writes; to have them on disk, too, say where by --out"
            )
