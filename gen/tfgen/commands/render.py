"""What `tfgen render` does: the files of jobs, without those of removed jobs. All is written, or nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tfgen.commands.pipeline.check_files import judge_files
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.find_cached import find_known
from tfgen.commands.pipeline.removed_jobs import find_removed_jobs
from tfgen.commands.pipeline.track import Track
from tfgen.errors import UsageError
from tfgen.git.under_way import is_under_way
from tfgen.job.output_root import output_root_of
from tfgen.job.sources import no_job_below, read_sources
from tfgen.problems import Problem, has_errors, in_order
from tfgen.record import Record
from tfgen.tree.ledger import Ledger, LedgerConflictError
from tfgen.tree.plan import WritePlan, nothing_committed
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import Spool, Spooled
from tfgen.tree.write import apply, plan_write, read_ledgers

if TYPE_CHECKING:
    from tfgen.commands.pipeline.merged_files import MergedFiles
    from tfgen.commands.pipeline.rendered_file import RenderedFile
    from tfgen.tree.ledgers import Ledgers


class Written(Record):
    """What came of it.

    Attributes:
        plan: what was written; none where there are errors.
        jobs: how many jobs there are.
        resolved: the number of merge conflicts that the render resolved.
    """

    problems: tuple[Problem, ...]
    plan: WritePlan | None = None
    jobs: int = 0
    resolved: int = 0


@contextmanager
def render_paths(
    paths: Sequence[Path], out: Path | None, *, force: bool = False, upgrade: bool = False, track: Track
) -> Iterator[Written]:
    """Write all files of the jobs in some files and folders, and remove those of jobs that are there no more.

    A job of which nothing has changed is not rendered. Nothing is written where a job has errors. What was written can
    be asked for within the block.

    A merge may have left conflicts in rendered files. The render writes these files again, and resolves the conflicts.

    Args:
        paths: the files and folders.
        out: the output folder; by default where the files of the jobs are.
        force: whether files that were edited by hand are replaced.
        upgrade: whether a job is rendered anew where only tfgen or the defaults under it changed.
        track: what is told of each file.

    Raises:
        UsageError: a path cannot be read, no output folder follows from them, a job keeps its files in another branch,
            or there is no job and none was removed, or nothing evaluates the policies that the jobs' tfgen.yaml names.
        ConflictsError: a file was edited by hand, and it is not `force`.
        TfgenError: the disk fails.
    """
    sources = read_sources(paths, may_be_none=True)
    is_beside = out is None
    out = out or output_root_of(paths, (source.file for source in sources))
    known = find_known(sources, out)
    with Spool(out) as spool:
        judged = judge_files(sources, known, spool, CheckScope(ends_with_errors=True, kept_for=out), track)
        checked, rendered = judged.checked, judged.rendered
        problems = [*checked.problems]
        if has_errors(problems):
            yield Written(in_order(problems))
            return
        for file in rendered.values():
            file.require_policies()
        if is_beside:
            _check_place(rendered)
        problems += (problem for file in rendered.values() for problem in file.of_objects.problems)
        problems += (problem for file in known.values() for problem in file.of_objects)
        if has_errors(problems):
            yield Written(in_order(problems))
            return
        jobs = {record.job for file in checked.files for record in file.result.records}
        ledgers, merge = _read_ledgers(out)
        try:
            removals = find_removed_jobs(ledgers.sources, paths, jobs)
            if not jobs and not removals:
                raise no_job_below(paths)
            renderings: Spooled[Rendering] = Spooled(
                [*(job.rendering for file in rendered.values() for job in file.jobs), *map(spool.put, removals)]
            )
            done = [job for file in known.values() for job in file.ledgers]
            stay = nothing_committed if upgrade else partial(_committed_jobs, out)
            plan = apply(plan_write(out, renderings, done=done, force=force, find_committed=stay, put=spool.put))
        except BaseException:
            if merge:
                merge.undo()
            raise
        yield Written(in_order(problems), plan, len(jobs), merge.resolve(plan) if merge else 0)


def _read_ledgers(out: Path) -> tuple[Ledgers, MergedFiles | None]:
    """Read all ledgers; after a merge, also return the rendered files that the merge left in conflict.

    Raises:
        LedgerConflictError: one side of a conflict is not a ledger.
        TfgenError: git or the disk fails, or a file is not a ledger.
    """
    conflicted: Collection[str] = ()
    try:
        ledgers = read_ledgers(out)
        if not is_under_way(out):
            return ledgers, None
    except LedgerConflictError as error:
        conflicted = error.sources
    from tfgen.commands.pipeline.merged_files import take_over_merge  # 20 ms, which only a merge costs

    merge = take_over_merge(out, conflicted)
    return read_ledgers(out), merge


def _committed_jobs(out: Path, ledgers: Mapping[str, Ledger]) -> Set[str]:
    """Return the jobs whose rendered files are as the last commit has them."""
    from tfgen.change.committed_jobs import committed_jobs  # 20 ms, which only jobs of another tfgen cost

    return committed_jobs(out, "HEAD")(ledgers)


def _check_place(files: Mapping[str, RenderedFile]) -> None:
    """See that charts/ and overlays/ of some jobs are kept beside them.

    Raises:
        UsageError: they are kept in a branch of their own.
    """
    for name, file in files.items():
        if branch := next((job.branch for job in file.jobs if job.branch), ""):
            raise UsageError(
                f"{name}: charts/ and overlays/ are kept in the branch {branch} (gitops.rendered), which "
                "tfgen commit writes; to have them on disk, too, say where by --out"
            )
