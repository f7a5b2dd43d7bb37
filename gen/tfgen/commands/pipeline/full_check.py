"""Fully check changed jobs, for `tfgen check` and `tfgen commit`.

The check covers each job, its objects, its rendered files and the differences from its committed version. A job with
errors is not rendered, because its objects and files would repeat the errors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tfgen.change.committed import FindNames, changed_files, committed_jobs
from tfgen.change.comparison import compare
from tfgen.change.rerendered import compare_overlays
from tfgen.check.cached_files import CachedFile, read_cached_files
from tfgen.check.checked import CheckedFile
from tfgen.check.files import Base, FileComparison, compare_files
from tfgen.check.severities import report_unused
from tfgen.commands.pipeline.check_files import FileResults
from tfgen.commands.pipeline.check_report import Report
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.committed_objects import CommittedObjects, check_committed, has_guard_rails
from tfgen.commands.pipeline.job_files import find_job_at
from tfgen.commands.pipeline.rendered_file import RenderedFile, render_files
from tfgen.commands.pipeline.run_ends import find_run_starts
from tfgen.commands.pipeline.sums import find_sums
from tfgen.errors import Problem, in_order
from tfgen.git.tree import HEAD
from tfgen.job.facts import name_of
from tfgen.job.sources import Source, read_documents
from tfgen.rails.limits import JobUse
from tfgen.tree.plan import FileAction, WritePlan, nothing_committed
from tfgen.tree.staging import Rendering, Staging, Stored
from tfgen.tree.write import plan_write


def full_check(
    results: FileResults,
    staging: Staging,
    *,
    against: str,
    out: Path,
    is_written: bool = False,
    is_verified: bool = False,
) -> Report:
    """Check jobs, and compare the jobs with their files on disk and with their committed versions.

    Args:
        results: the results of `check_files`.
        staging: the staging folder with the rendered files.
        against: the revision to compare with.
        out: the output folder.
        is_written: whether the command writes the rendered files after the check. If so, outdated files are no problem.
        is_verified: whether all files on disk must match the files that this version of tfgen renders.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    checked, scope = results.checked, results.scope
    changed = [file for file in checked.valid_files if not file.is_cached]
    # These files were read from the cache, but a job in them clashes with a changed job, so the files are rendered now.
    clashing = [file.source for file in changed if file.source.file not in results.rendered]
    rendered = {**results.rendered, **dict(render_files(results.checker, staging, clashing, scope) if clashing else ())}
    files = [(file, rendered[file.source.file]) for file in changed]
    find_cached = _nothing_cached if is_verified else partial(_find_cached, scope)
    compared = compare(checked, against, find_cached)
    problems = [*checked.problems, *compared.problems]
    problems += (problem for _, file in files for problem in file.object_report.problems)
    problems += (problem for file, result in files for problem in _find_unused(results, file, result))
    uses = {file.source.file: result.uses for file, result in files}
    notes = [*compared.notes, *find_run_starts(compared.unpaired)]
    if kinds := sorted({kind for _, file in files for kind in file.kinds_without_schema}):
        notes.append(
            f"tfgen has no schemas for the kinds {', '.join(kinds)}, and does not validate objects of these kinds"
        )
    jobs = [job for _, file in files for job in file.jobs]
    if local_jobs := [job for job in jobs if not job.branch]:
        renderings: Stored[Rendering] = Stored(job.rendering for job in local_jobs)
        find_committed = committed_jobs(out, HEAD, tree=scope.tree) if is_written else nothing_committed
        plan = plan_write(
            out,
            renderings,
            find_committed=find_committed,
            has_job=find_job_at((job.place.file for job in local_jobs), scope.tree),
            staging=staging,
            tree=scope.tree,
        )
        find_changed = scope.find_changed or changed_files(out, against, scope.tree)
        overlays = compare_overlays(
            compared.pairs, plan, against, is_written=is_written, find_changed=find_changed, find_cached=find_cached
        )
        base = Base() if is_written or is_verified else _base(out, against, plan, find_changed)
        places = {job.name: job.place for job in local_jobs}
        on_disk = FileComparison((), ()) if is_written else compare_files(places, plan, base)
        problems += (*overlays.problems, *on_disk.problems)
        notes += (*overlays.notes, *on_disk.notes)
        if names := _unrendered_jobs(plan, base):
            committed = _check_committed(results, plan, files, names)
            problems += (problem for result in committed.values() for problem in result.problems)
            notes += (note for result in committed.values() for note in result.notes)
            uses |= {file: _merge_uses(uses[file], result.uses) for file, result in committed.items()}
    problems += find_sums(results.checker, checked.sources, uses, scope.tree)
    return Report(in_order(problems), tuple(notes), len(compared.pairs), tuple(jobs))


def _find_cached(scope: CheckScope, sources: Sequence[Source]) -> Mapping[str, CachedFile]:
    """Return the cached results of job files, by the name of the job file.

    Without job files, the function does not read the manifests.
    """
    return read_cached_files(sources, scope.find_manifests()) if sources else {}


def _nothing_cached(_: Sequence[Source]) -> Mapping[str, CachedFile]:
    return {}


def _base(out: Path, against: str, plan: WritePlan, find_changed: FindNames) -> Base:
    """Return the base of comparison for the revision `against`.

    The base lists the jobs of `plan` whose rendered files are the same as in this revision. The base also lists the
    paths of the rendered files that differ from the revision.
    """
    if plan.is_done:
        return Base(committed=plan.ledgers.keys(), revision=against)
    return Base(committed_jobs(out, against, find_changed)(plan.ledgers), find_changed(), against)


def _unrendered_jobs(plan: WritePlan, base: Base) -> set[str]:
    """Return the names of the jobs that keep their committed files, although tfgen now renders different files."""
    changed = (plan.jobs[at] for at, counts in enumerate(plan.jobs.counts) if counts.keys() - {FileAction.KEEP})
    jobs = (job for job in changed if job.before and job.before.is_of_same_job(job.target))
    return {*plan.kept_jobs, *(job.rendering.job for job in jobs if job.rendering.job in base.committed)}


def _check_committed(
    results: FileResults, plan: WritePlan, files: Iterable[tuple[CheckedFile, RenderedFile]], names: Collection[str]
) -> dict[str, CommittedObjects]:
    """Return job file -> result of the check of the committed objects, for the jobs in `names`.

    The mapping has only the job files whose tfgen.yaml files set guard rails for objects.
    """
    sources = [file.source for file, result in files if any(job.name in names for job in result.jobs)]
    layers = results.checker.read_defaults(sources)
    guarded = {layer.file for layer in layers if has_guard_rails(layer)}
    return {
        source.file: check_committed(
            plan.out,
            plan.request.tree,
            plan.ledgers,
            [document for document in read_documents(source) if name_of(document) in names],
        )
        for source in sources
        if source.defaults and source.defaults.file in guarded
    }


def _merge_uses(rendered: Sequence[JobUse], committed: Sequence[JobUse]) -> tuple[JobUse, ...]:
    """Return the resources that the jobs of a job file request.

    The resources of a job come from `committed`, or from `rendered` if `committed` does not list the job.
    """
    jobs = {use.job for use in committed}
    return (*(use for use in rendered if use.job not in jobs), *committed)


def _find_unused(results: FileResults, file: CheckedFile, rendered: RenderedFile) -> tuple[Problem, ...]:
    """Return a problem for each ignore comment in a job file that suppresses no problem.

    If a job of the file conflicts with a job of another file, the function searches the file again, because a comment
    may suppress the problem of the conflict.
    """
    if not file.clashes:
        return rendered.unused
    jobs = {job.name for job in rendered.jobs}
    documents = [document for document in read_documents(file.source) if name_of(document) in jobs]
    return report_unused(documents, (*results.checked.ignored, *rendered.object_report.ignored))
