"""Commit jobs together with their rendered files, in one branch.

For each job, the commit contains the rendered files, the ledger, the job file and the tfgen.yaml files with the job's
defaults. So no commit contains a job file that does not match the rendered files of the job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from tfgen.change.committed import committed_jobs
from tfgen.change.comparison import PairPlaces, pair_jobs
from tfgen.check.files import Base, compare_files
from tfgen.commands.git.commit_check import check_for_commit
from tfgen.commands.git.commit_message import commit_message
from tfgen.commands.git.commit_steps import (
    CommitOptions,
    Outcome,
    all_renderings,
    commit_to_branch,
    job_words,
    open_on_branch,
    paths_from_root,
    push_branch,
    repository_files,
    source_paths,
)
from tfgen.commands.pipeline.check_files import FileResults
from tfgen.commands.pipeline.check_report import Report
from tfgen.commands.pipeline.removed_jobs import find_removed_jobs
from tfgen.commands.pipeline.run_ends import find_run_ends
from tfgen.errors import TfgenError, UsageError
from tfgen.git.commit import Repository, changed, check_paths, would_change
from tfgen.git.push import find_pushed, target
from tfgen.git.tree import HEAD, CommitTree, resolved
from tfgen.job.sources import no_job_below, removed_files
from tfgen.places import placeholders
from tfgen.problems import Problem
from tfgen.record import Record
from tfgen.tree.ledger import Ledger, ledger_path, parse_ledger
from tfgen.tree.plan import ConflictsError, WritePlan
from tfgen.tree.spool import Spool
from tfgen.tree.write import apply, plan_write, read_ledgers


def commit_jobs(jobs: Sequence[Path], results: FileResults, spool: Spool, options: CommitOptions) -> Outcome:
    """Write the rendered files of the jobs, and commit only the rendered files and the job files.

    Args:
        jobs: the files and folders of the command line.
        results: the checked jobs.
        spool: the spool with the rendered files.
        options: the options of the commit.

    Raises:
        ProblemsError: the jobs have errors.
        UsageError: git, the repository, the branch or the remote does not exist.
        RefusedError: the repository is in a merge or rebase, or a hook, the signing program or the remote refuses.
        ConflictsError: a file was edited by hand.
        TfgenError: git or the disk fails.
    """
    out, branch = options.out, options.branch
    before = open_on_branch(out, branch)
    is_new = branch not in ("", before.branch)
    to = target(before.replaced(branch=branch or before.branch)) if options.pushes else None
    work = _plan_work(jobs, results, spool, out, find_pushed(before, to) if to else "")
    digests, files, unplanned = _files_of_jobs(before, out, work)
    check_paths(before, digests, unplanned)
    if to and is_new and not (would_change(before, digests) or changed(before, unplanned)):
        raise UsageError(f"nothing has changed, so tfgen does not create the branch {branch}")
    if (plan := apply(work.plan)) is not work.plan:  # a second tfgen process has rendered a job since the plan
        work = work.replaced(plan=plan)
        digests, files, unplanned = _files_of_jobs(before, out, work)
    _check_ledgers(plan, out)

    changed_paths = changed(before, (*digests, *unplanned))
    if changed_paths:
        changed_paths += changed(before, repository_files(before))
    repository = before
    message, written = options.message, ""
    ends = find_run_ends(work.pairs) if changed_paths else ()
    if changed_paths:
        message = message or commit_message(job_words(work.pairs, files, changed_paths, plan.kept_jobs))
        repository, written = commit_to_branch(before, branch, changed_paths, message)
    notes = [*work.report.notes, *(_kept_note(pair) for pair in work.pairs if pair.name in plan.kept_jobs)]
    if written and work.report.jobs and (drifted := _files_that_differ(work.report, spool, out)):
        notes.append(f"a git hook changed a rendered file: {drifted[0]}")
    if is_new and not changed_paths:
        to = None  # another process has committed the change, or a git filter removed the difference
    if to:
        replay = push_branch(repository, to)
        if replay.sources:
            files_again = ", ".join(sorted(replay.sources))
            notes.append(f"rebased the commit on {to}, and rendered the merged job files again: {files_again}")
        written = "" if replay.is_empty else written and resolved(repository.root)
    return Outcome(
        commit=written,
        message=message,
        files=tuple(changed_paths),
        branch=repository.branch,
        pushed_to=str(to) if to else "",
        problems=work.report.problems,
        notes=tuple(notes),
        ends=ends,
    )


class _Work(Record):
    """A prepared commit: the check report, the committed and the current version of each job, and the planned write."""

    report: Report
    pairs: tuple[PairPlaces, ...]
    plan: WritePlan


def _plan_work(jobs: Sequence[Path], results: FileResults, spool: Spool, out: Path, pushed: str) -> _Work:
    """Check the jobs against HEAD and the last pushed commit, and plan the write. The function writes no file."""
    report = check_for_commit(results, spool, out, HEAD, pushed)
    removed = removed_files(jobs, CommitTree())
    matched = pair_jobs(results.checked, HEAD, removed).pairs
    removals = find_removed_jobs(read_ledgers(out).sources, jobs, {job.name for job in report.jobs}, removed)
    if not (matched or removals):
        raise no_job_below(jobs)
    plan = plan_write(
        out, all_renderings(report, removals, spool), find_committed=committed_jobs(out, HEAD), store=spool.store
    )
    if plan.conflicts:
        raise ConflictsError(plan.conflicts, "tfgen render --force")
    return _Work(report, matched, plan)


def _check_ledgers(plan: WritePlan, out: Path) -> None:
    """Raise TfgenError if another process has changed a ledger after tfgen planned the write."""
    now = read_ledgers(out)
    planned = (job.rendering.job for job in plan.jobs if now.get(job.rendering.job) != job.after)
    unrendered = (job for job in plan.kept_jobs if now.digests.get(job) != plan.ledgers.digests[job])
    if job := next(chain(planned, unrendered), None):
        raise TfgenError(f"{ledger_path(job)}: another tfgen process rendered {job}; run the command again")


def _files_of_jobs(
    repository: Repository, out: Path, work: _Work
) -> tuple[dict[str, str | None], dict[str, set[str]], set[str]]:
    """Return three groups of files of the jobs. All paths are relative to the root of the repository.

    The first group has the digest of each file that the plan writes or removes, by path. The second group has the paths
    of all files of each job, by name of the job. The third group has the paths of the files that the plan does not
    write, such as job files.
    """
    planned = {job.rendering.job: job.digests for job in work.plan.jobs}
    committed = CommitTree().read_all(out / ledger_path(pair.name) for pair in work.pairs)
    digests: dict[str, str | None] = {}
    files: dict[str, set[str]] = {}
    for pair in work.pairs:
        of_plan = planned.get(pair.name, {})
        now, was = work.plan.ledgers.get(pair.name), committed.get(out / ledger_path(pair.name))
        names = paths_from_root(repository, _files_of_job(out, pair, of_plan, now, was))
        digests |= {names[out / path]: digest for path, digest in of_plan.items() if out / path in names}
        files[pair.name] = {*names.values()}
    unplanned = {path for paths in files.values() for path in paths} - digests.keys()
    return digests, files, unplanned


def _files_of_job(
    out: Path, pair: PairPlaces, planned: Mapping[str, str | None], now: Ledger | None, committed: bytes | None
) -> set[Path]:
    """Return the paths of the files that the commit includes for a job. Files that the write removes are included.

    Args:
        out: the output folder.
        pair: the committed and the current version of the job.
        planned: the digest of each file after the write, by path; None for a deleted file. Empty for an unchanged job.
        now: the ledger of the job on disk.
        committed: the content of the committed ledger.
    """
    stays = now.files if now and not planned else {}
    has_any = bool(stays) or any(planned.values())
    was = _committed_ledger(pair.name, committed)
    lost = {path for path in was.paths() if not (has_any and (out / path).exists())} if was else set()
    paths = (ledger_path(pair.name), *planned, *stays, *lost, *placeholders(lost))
    return {*(out / path for path in paths), *source_paths(pair)}


def _files_that_differ(report: Report, spool: Spool, out: Path) -> tuple[Problem, ...]:
    plan = plan_write(out, report.renderings, store=spool.store)
    base = Base(committed_jobs(out, HEAD)(plan.ledgers), revision=HEAD)
    return compare_files({job.name: job.place for job in report.jobs}, plan, base).problems


def _committed_ledger(job: str, content: bytes | None) -> Ledger | None:
    """Parse the committed ledger of a job. Return None for an invalid ledger, which the new commit replaces."""
    if content is None:
        return None
    with suppress(TfgenError):
        return parse_ledger(job, content.decode("utf-8", errors="replace"))
    return None


def _kept_note(pair: PairPlaces) -> str:
    """Return the note about a job whose rendered files remain unchanged despite new defaults or a new tfgen version."""
    file = pair.after.source.file if pair.after else ""
    return (
        f"{pair.name} keeps its rendered files until the job changes; to render the job: tfgen render --upgrade {file}"
    )
