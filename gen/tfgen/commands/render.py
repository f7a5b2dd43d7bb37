"""`tfgen render`: write the files of jobs, and remove the files of removed jobs, completely or not at all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tfgen.commands.pipeline.check_files import check_files
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.find_cached import find_cached
from tfgen.commands.pipeline.job_files import find_job_at
from tfgen.commands.pipeline.removed_jobs import find_removed_jobs, last_job_files
from tfgen.commands.pipeline.track import Track
from tfgen.errors import Problem, UsageError, has_errors, in_order, stop_at_errors
from tfgen.git.merge import is_under_way
from tfgen.job.sources import no_job_below, output_root_of, read_sources
from tfgen.record import Record
from tfgen.tree.ledger import Ledger, LedgerConflictError
from tfgen.tree.plan import WritePlan, nothing_committed
from tfgen.tree.staging import Rendering, Staging, Stored
from tfgen.tree.write import apply, plan_write, read_ledgers

if TYPE_CHECKING:
    from tfgen.commands.pipeline.merged_files import MergedFiles
    from tfgen.commands.pipeline.rendered_file import RenderedFile
    from tfgen.targets.gitops.delivery import ChangedField
    from tfgen.tree.ledger import Ledgers


class Written(Record):
    """The result of `tfgen render`.

    Attributes:
        problems: the warnings about the jobs.
        plan: the plan of the write.
        jobs: the number of jobs.
        resolved: the number of merge conflicts that the render resolved.
        fields_reset_by_gitops: for each new job without `gitops`, the fields that controllers in the cluster change,
            such as the replicas of a StatefulSet. A GitOps tool with a hand-written Application or Kustomization would
            reset these fields.
    """

    problems: tuple[Problem, ...]
    plan: WritePlan
    jobs: int
    resolved: int
    fields_reset_by_gitops: Mapping[str, Sequence[ChangedField]]


@contextmanager
def render_paths(
    paths: Sequence[Path], out: Path | None, *, force: bool = False, upgrade: bool = False, track: Track
) -> Iterator[Written]:
    """Render the jobs in files and folders, and remove the files of removed jobs.

    Unchanged jobs are not rendered. If a job has errors, nothing is written. The result is valid only within the `with`
    block.

    After a merge, the render resolves conflicts in rendered files.

    Args:
        paths: the files and folders.
        out: the output folder; None for the default folder of the jobs.
        force: whether to replace files that were edited by hand.
        upgrade: whether to render a job again if only the version of tfgen or the defaults changed.
        track: reports the progress.

    Raises:
        UsageError: a path cannot be read, the output folder is ambiguous, a job keeps its files in another branch, or
            the paths contain neither a job nor the files of a removed job and never contained a job.
        ProblemsError: a job has errors.
        ConflictsError: a file was edited by hand, and `force` is false.
        TfgenError: the disk fails.
    """
    sources = read_sources(paths, may_be_none=True)
    has_out_option = out is not None
    out = out or output_root_of(paths, (source.file for source in sources))
    cached = find_cached(sources, out)
    with Staging(out, is_inside=True) as staging:
        results = check_files(sources, cached, staging, CheckScope(stops_at_errors=True, cache_out=out), track)
        problems = [*results.checked.problems]
        if not has_errors(problems):
            _check_rendered(results.rendered, has_out_option=has_out_option)
            problems += (problem for file in results.rendered.values() for problem in file.object_report.problems)
            problems += (problem for file in cached.values() for problem in file.object_problems)
        stop_at_errors(in_order(problems))
        jobs = {record.job for file in results.checked.files for record in file.result.records}
        ledgers, merge = _read_ledgers(out)
        try:
            removed_files = [] if sources else last_job_files(paths)
            removals = find_removed_jobs(ledgers.sources, paths, jobs, removed_files)
            if not (jobs or removals or removed_files):
                raise no_job_below(paths)
            rendered = (job.rendering for file in results.rendered.values() for job in file.jobs)
            renderings: Stored[Rendering] = Stored([*rendered, *removals])
            cached_jobs = [job for file in cached.values() for job in file.ledgers]
            find_committed = nothing_committed if upgrade else partial(_committed_jobs, out)
            has_job = find_job_at(source.file for source in sources)
            plan = plan_write(
                out,
                renderings,
                done=cached_jobs,
                force=force,
                find_committed=find_committed,
                has_job=has_job,
                staging=staging,
            )
            plan = apply(plan)
        except BaseException:
            if merge:
                merge.undo()
            raise
        resolved = merge.resolve(plan) if merge else 0
        yield Written(in_order(problems), plan, len(jobs), resolved, _fields_reset_by_gitops(results.rendered, ledgers))


def _fields_reset_by_gitops(
    files: Mapping[str, RenderedFile], ledgers: Mapping[str, Ledger]
) -> dict[str, tuple[ChangedField, ...]]:
    """Return the fields that a GitOps tool would reset in each new job, by the name of the job.

    Controllers in the cluster change these fields, such as the replicas of a StatefulSet. A job is new if `ledgers` has
    no ledger for the job.
    """
    jobs = (job for file in files.values() for job in file.jobs)
    fields = {job.name: job.fields_reset_by_gitops for job in jobs if job.name not in ledgers}
    return {name: of_job for name, of_job in fields.items() if of_job}


def _read_ledgers(out: Path) -> tuple[Ledgers, MergedFiles | None]:
    """Read the ledgers of all jobs. During a merge, first resolve the conflicts in the ledgers.

    The second item of the result describes the rendered files with conflicts. Outside a merge, this item is None.

    Raises:
        LedgerConflictError: one of the two versions of a ledger in a merge conflict is invalid.
        TfgenError: git or the disk fails, or a ledger is invalid.
    """
    conflicted: Collection[str] = ()
    try:
        ledgers = read_ledgers(out)
        if not is_under_way(out):
            return ledgers, None
    except LedgerConflictError as error:
        conflicted = error.sources
    from tfgen.commands.pipeline.merged_files import take_over_merge  # takes 20 ms, which only a merge needs

    merge = take_over_merge(out, conflicted)
    return read_ledgers(out), merge


def _committed_jobs(out: Path, ledgers: Mapping[str, Ledger]) -> Set[str]:
    """Return the names of the jobs whose rendered files equal the files in the last commit."""
    from tfgen.change.committed import committed_jobs  # takes 20 ms, which few renders need

    return committed_jobs(out, "HEAD")(ledgers)


def _check_rendered(files: Mapping[str, RenderedFile], *, has_out_option: bool) -> None:
    """Check that no job needs a separate branch for its rendered files, unless the user passed `--out`.

    Raises:
        UsageError: a job uses `gitops.rendered`.
    """
    for name, file in () if has_out_option else files.items():
        if branch := next((job.branch for job in file.jobs if job.branch), ""):
            raise UsageError(
                f"{name}: charts/ and overlays/ are in the branch {branch} (gitops.rendered), to which only tfgen "
                "commit writes; to render the files to a folder, add --out DIR"
            )
