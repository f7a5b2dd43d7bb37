"""The branch of rendered files of jobs with ``gitops.rendered``: commit the rendered files of the jobs to the branch.

`tfgen commit` first commits the job files and their defaults to the current branch. Then tfgen renders the jobs in a
temporary working tree, and commits the rendered files to the separate branch. The message of the second commit contains
the id of the first commit. So the branch of the job files contains no rendered file, and the clusters read only
rendered files.

tfgen renders only the jobs of the branch `gitops.branch`, so a commit to a different branch changes no cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from tfgen.change.committed import changed_files, committed_jobs
from tfgen.change.comparison import PairPlaces, pair_jobs
from tfgen.change.rerendered import compare_overlays
from tfgen.check.checked import Checked
from tfgen.commands.git.message import commit_message, job_changes
from tfgen.commands.git.replay import NOT_COMMITTED
from tfgen.commands.pipeline.check_report import Report
from tfgen.commands.pipeline.job_files import find_job_at
from tfgen.commands.pipeline.removed_jobs import find_removed_jobs
from tfgen.errors import UsageError
from tfgen.git.commit import Repository
from tfgen.git.history import before_removals
from tfgen.git.publish import Target, commit_all, find_tip, publish, worktree
from tfgen.git.tree import HEAD, CommitTree
from tfgen.job.documents import read_documents
from tfgen.job.facts import rendered_branch, source_branch
from tfgen.job.sources import no_job_below, removed_files
from tfgen.problems import Problem, stop_at_errors
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.tree.plan import ConflictsError
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import Spool, Spooled
from tfgen.tree.write import apply, plan_write, read_ledgers

SOURCE_COMMIT: Final = "Source-commit"
"""Trailer of a commit of rendered files. The value is the id of the commit of the job files."""


class Branches(Record):
    """The branch of the job files, and the branch of their rendered files."""

    source: str
    rendered: str


class RenderWork(Record):
    """The input of a commit to the branch of rendered files.

    Attributes:
        jobs: the files and folders of the command line.
        checked: the checked jobs.
        spool: the spool with the rendered files.
        report: the report of the check.
        since: the commit to compare with.
        source: the id of the commit of the job files.
        message: the message of the commit; empty for a generated message, such as "mnist: workers 4 -> 8".
        folder: the path of the output folder from the root of the repository.
    """

    jobs: Sequence[Path]
    checked: Checked
    spool: Spool
    report: Report
    since: str
    source: str
    message: str
    folder: Path


class RenderedCommit(Record):
    """A commit to the branch of rendered files.

    Attributes:
        commit: the id of the commit; empty if no file has changed.
        message: the message of the commit.
        files: the paths of the changed files from the root of the repository.
        problems: the problems that are not errors.
        notes: messages for the user that are not problems.
        is_pushed: whether the remote branch has the commit.
    """

    commit: str
    message: str
    files: tuple[str, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    is_pushed: bool = False


def rendered_branches(jobs: Sequence[Path], checked: Checked) -> Branches | None:
    """Return the branches of jobs with `gitops.rendered`; None if the jobs have no separate branch for rendered files.

    If all jobs were removed, the function reads the branches from the last committed jobs.

    Args:
        jobs: the files and folders of the command line.
        checked: the checked jobs.

    Raises:
        UsageError: the jobs name different branches.
    """
    files = checked.valid_files
    documents: Iterable[Document]
    if files:
        documents = chain.from_iterable(read_documents(file.source) for file in files)
    else:  # the jobs of the last commit that has jobs at these paths
        revisions = chain((HEAD,), chain.from_iterable(map(before_removals, jobs)))
        versions = (
            [pair.before.read() for pair in pairs_at(jobs, checked, commit) if pair.before] for commit in revisions
        )
        documents = next(filter(None, versions), [])
    branches = {
        Branches(source_branch(document), rendered_branch(document)) if rendered_branch(document) else None
        for document in documents
    }
    if len(branches) > 1:
        raise UsageError("the jobs name several branches in gitops.rendered; commit the jobs of each branch separately")
    return next(iter(branches), None)


def pairs_at(jobs: Sequence[Path], checked: Checked, revision: str) -> tuple[PairPlaces, ...]:
    """Return the version in a commit and the current version of each job at or below the paths `jobs`."""
    return pair_jobs(checked, revision, removed_files(jobs, CommitTree(revision))).pairs


def last_source_commit(repository: Repository, tip: str) -> str:
    """Return the id of the commit whose job files tfgen rendered last; HEAD if no such commit exists.

    The message of `tip`, the last commit of rendered files, contains the id. If tfgen has not committed rendered files
    yet, `tip` is empty.
    """
    trailer = f"--format=%(trailers:key={SOURCE_COMMIT},valueonly)"
    named = repository.text("log", "-1", trailer, tip) if tip else ""
    # A shallow clone may lack the commit.
    return named if named and repository.succeeds("cat-file", "-e", f"{named}^{{commit}}") else HEAD


def all_renderings(report: Report, removals: Iterable[Rendering], spool: Spool) -> Spooled[Rendering]:
    """Return the renderings of all jobs: of the checked jobs, and of the removed jobs.

    A rendering in `removals` has no files, so the write of the rendering deletes the files of the removed job.
    """
    return Spooled([*(job.rendering for job in report.jobs), *map(spool.store, removals)])


def commit_rendered(repository: Repository, branch: str, to: Target | None, work: RenderWork) -> RenderedCommit:
    """Render jobs into the branch of rendered files, and push the branch if `to` is not None.

    Raises:
        ProblemsError: a job needs a new run.
        RefusedError: the remote refuses.
        ConflictsError: a file in the branch was edited by hand.
        TfgenError: git or the disk fails.
    """

    def render(_: int) -> tuple[str, RenderedCommit]:
        tip = find_tip(repository, branch, to)
        with worktree(repository, tip) as tree:
            rendered = _render(tree, work, has_parent=bool(tip))
        return rendered.commit or tip, rendered

    commit, rendered = publish(repository, to, render, f"nothing is committed to {branch}")
    if commit:
        repository.git("update-ref", f"refs/heads/{branch}", commit).output()
    return rendered.replaced(is_pushed=bool(to and commit))


def _render(tree: Repository, work: RenderWork, *, has_parent: bool) -> RenderedCommit:
    """Render jobs into a temporary working tree, and commit the files without moving a branch."""
    out = tree.root / work.folder
    pairs = pairs_at(work.jobs, work.checked, work.since)
    removed = removed_files(work.jobs, CommitTree(work.since))
    ledgers = read_ledgers(out)
    removals = find_removed_jobs(ledgers.sources, work.jobs, {job.name for job in work.report.jobs}, removed)
    if not (pairs or removals):
        raise no_job_below(work.jobs)
    renderings = all_renderings(work.report, removals, work.spool)
    plan = plan_write(
        out,
        renderings,
        find_committed=committed_jobs(out, HEAD),
        has_job=find_job_at(job.place.file for job in work.report.jobs),
        store=work.spool.store,
    )
    if plan.conflicts:
        raise ConflictsError(plan.conflicts, "tfgen render --force")
    again = compare_overlays(pairs, plan, HEAD, is_written=True, find_changed=changed_files(out, HEAD))
    stop_at_errors(again.problems, NOT_COMMITTED)
    apply(plan)
    touched = [job.rendering.job for job in plan.jobs if job.touches_files() or job.before != job.after]
    message = work.message
    if not message:
        pair_by_name = {pair.name: pair for pair in pairs}
        changes = {name: job_changes(pair_by_name[name].read()) for name in touched if name in pair_by_name}
        words = {
            name: (changes.get(name) or ["rendered again"]) if name in ledgers else ["new job"] for name in touched
        }
        message = commit_message(words or {HEAD: ["nothing new"]})
    message = f"{message.rstrip()}\n\n{SOURCE_COMMIT}: {work.source}"
    commit = commit_all(tree, message, has_parent=has_parent)
    files = (f"{work.folder / path}" for path in (*plan.created, *plan.changed, *plan.removed)) if commit else ()
    return RenderedCommit(commit, message, tuple(sorted(files)), again.problems, again.notes)
