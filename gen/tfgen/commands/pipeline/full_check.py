"""All that `tfgen check` looks at in jobs that have changed, and that `tfgen commit` refuses to pass over.

    full_check(check_files(sources, {}, spool, CheckScope(), untracked), spool, against="HEAD", out=Path("."))
        ->  Report(problems=..., notes=..., ...)

After the job itself and its objects come its files, and what is committed of it. A job that has errors is not looked at
any further: its objects and files would only be wrong in their turn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from tfgen.change.committed_jobs import changed_files, committed_jobs
from tfgen.change.comparison import compare
from tfgen.change.rerendered import compare_overlays
from tfgen.check.admission.folder import read_folders_of
from tfgen.check.checked import CheckedFile
from tfgen.check.files import Base, FileComparison, compare_files
from tfgen.check.limits import JobUse
from tfgen.check.severities import report_unused
from tfgen.commands.pipeline.check_files import FileResults
from tfgen.commands.pipeline.check_report import Report
from tfgen.commands.pipeline.committed_objects import CommittedObjects, check_committed
from tfgen.commands.pipeline.rendered_file import RenderedFile, render_files
from tfgen.commands.pipeline.sums import find_sums
from tfgen.git import read as git
from tfgen.job.facts import name_of
from tfgen.problems import Problem, in_order
from tfgen.tree.plan import FileAction, WritePlan, nothing_committed
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import Spool, Spooled
from tfgen.tree.write import plan_write


def full_check(
    results: FileResults,
    spool: Spool,
    *,
    against: str,
    out: Path,
    is_written: bool = False,
    is_verified: bool = False,
) -> Report:
    """Check jobs beside their files on disk, and beside what is committed.

    Args:
        results: the jobs' files.
        spool: where what is rendered of them is.
        against: the revision that is compared with.
        out: the output folder.
        is_written: whether the files are about to be written anyway, so that those on disk are no matter.
        is_verified: whether each job must be as this tfgen renders it, whatever is committed.

    Raises:
        UsageError: there is no such revision, or nothing that evaluates the policies that the jobs' tfgen.yaml names.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    checked, scope = results.checked, results.scope
    read = [file for file in checked.whole_files if not file.is_cached]
    clashing = [file.source for file in read if file.source.file not in results.rendered]
    rendered = {**results.rendered, **dict(render_files(results.checker, spool, clashing, scope) if clashing else ())}
    whole = [(file, rendered[file.source.file]) for file in read]
    for _, of_file in whole:
        of_file.require_policies()
    compared = compare(checked, against)
    problems = [*checked.problems, *compared.problems]
    problems += (problem for _, of_file in whole for problem in of_file.of_objects.problems)
    problems += (problem for file, of_file in whole for problem in _find_unused(results, file, of_file))
    uses = {file.source.file: of_file.uses for file, of_file in whole}
    notes = [*compared.notes]
    if unknown := sorted({kind for _, of_file in whole for kind in of_file.unknown}):
        notes.append(f"no schemas for {', '.join(unknown)}, so tfgen does not validate such objects")
    jobs = [job for _, of_file in whole for job in of_file.jobs]
    if beside := [job for job in jobs if not job.branch]:
        renderings: Spooled[Rendering] = Spooled(job.rendering for job in beside)
        stay = committed_jobs(out, git.HEAD) if is_written else nothing_committed
        plan = plan_write(out, renderings, find_committed=stay, store=spool.store)
        again = compare_overlays(compared.pairs, plan, against, is_written=is_written)
        base = Base() if is_written or is_verified else _base(out, against, plan)
        places = {job.name: job.place for job in beside}
        files = FileComparison((), ()) if is_written else compare_files(places, plan, base)
        problems += (*again.problems, *files.problems)
        notes += (*again.notes, *files.notes)
        if names := _staying(plan, base):
            staying = _check_staying(results, plan, whole, names)
            problems += (problem for of_file in staying.values() for problem in of_file.problems)
            notes += (note for of_file in staying.values() for note in of_file.notes)
            uses |= {file: _with_uses(uses[file], of_file.uses) for file, of_file in staying.items()}
    problems += find_sums(results.checker, checked.sources, uses)
    return Report(in_order(problems), tuple(notes), len(compared.pairs), tuple(jobs))


def _base(out: Path, against: str, plan: WritePlan) -> Base:
    """Return what git knows of the rendered files, where one is not as this tfgen renders it."""
    if plan.is_done:
        return Base(committed=plan.ledgers.keys(), revision=against)
    find_changed = changed_files(out, against)
    return Base(committed_jobs(out, against, find_changed)(plan.ledgers), find_changed(), against)


def _staying(plan: WritePlan, base: Base) -> set[str]:
    """Return the jobs that stay as they are committed, though this tfgen would render them differently."""
    changed = (plan.jobs[at] for at, counts in enumerate(plan.jobs.counts) if counts.keys() - {FileAction.KEEP})
    jobs = (job for job in changed if job.before and job.before.is_of_same_job(job.target))
    return {*plan.kept_jobs, *(job.rendering.job for job in jobs if job.rendering.job in base.committed)}


def _check_staying(
    results: FileResults, plan: WritePlan, whole: Iterable[tuple[CheckedFile, RenderedFile]], names: Collection[str]
) -> dict[str, CommittedObjects]:
    """Check the committed objects of jobs, by file."""
    files = [file.source for file, of_file in whole if any(job.name in names for job in of_file.jobs)]
    policies = read_folders_of(results.checker.read_defaults(files))
    documents = [results.checker.check(source).documents for source in files]
    return {
        source.file: check_committed(
            plan.out, plan.ledgers, policies, [document for document in of_file if name_of(document) in names]
        )
        for source, of_file in zip(files, documents, strict=True)
    }


def _with_uses(rendered: Sequence[JobUse], committed: Sequence[JobUse]) -> tuple[JobUse, ...]:
    """Return what the jobs of a file ask for, with the committed objects in place of the rendered ones."""
    jobs = {use.job for use in committed}
    return (*(use for use in rendered if use.job not in jobs), *committed)


def _find_unused(results: FileResults, file: CheckedFile, rendered: RenderedFile) -> tuple[Problem, ...]:
    """The comments of a file that ignore nothing, not even a clash with another file."""
    if not file.clashes:
        return rendered.unused
    jobs = {job.name for job in rendered.jobs}
    documents = [one for one in results.checker.check(file.source).documents if name_of(one) in jobs]
    return report_unused(documents, (*results.checked.ignored, *rendered.of_objects.ignored))
