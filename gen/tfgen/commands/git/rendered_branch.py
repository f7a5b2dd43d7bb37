"""Commit jobs whose rendered files are in a separate branch (``gitops.rendered``).

tfgen first commits the job files and their defaults to the current branch. Then tfgen renders the jobs in a temporary
working tree, and commits the rendered files to the separate branch. The message of the second commit contains the id of
the first commit. So the branch of the job files contains no rendered file, and the clusters read only rendered files.

tfgen renders only the jobs of the branch `gitops.branch`, so a commit to a different branch changes no cluster.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from tfgen.change.committed import changed_files, committed_jobs
from tfgen.change.comparison import PairPlaces, pair_jobs
from tfgen.change.rerendered import compare_overlays
from tfgen.check.checked import Checked
from tfgen.commands.git.commit_check import NOT_COMMITTED, check_for_commit
from tfgen.commands.git.commit_message import commit_message, job_changes
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
from tfgen.commands.pipeline.check_files import FileResults, check_files
from tfgen.commands.pipeline.check_report import Report
from tfgen.commands.pipeline.removed_jobs import find_removed_jobs
from tfgen.commands.pipeline.run_ends import find_run_ends
from tfgen.commands.pipeline.track import untracked
from tfgen.errors import UsageError
from tfgen.git.branch import commit_all, find_tip, has_commit, is_remote_tip, move_branch, trailer, working_tree
from tfgen.git.commit import RefusedError, Repository, changed, check_paths, open_repository, wait
from tfgen.git.history import before_removals
from tfgen.git.push import ATTEMPTS, Target, find_pushed, push_commit, target
from tfgen.git.tree import HEAD, CommitTree, resolved
from tfgen.job.documents import read_documents
from tfgen.job.facts import rendered_branch, source_branch
from tfgen.job.sources import no_job_below, read_sources, removed_files
from tfgen.problems import stop_at_errors
from tfgen.real_path import real_path
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.tree.plan import ConflictsError
from tfgen.tree.spool import Spool
from tfgen.tree.write import apply, plan_write, read_ledgers

SOURCE_COMMIT: Final = "Source-commit"
"""Trailer of a commit of rendered files. The value is the id of the commit of the job files."""


class Branches(Record):
    """The branch of the job files, and the branch of their rendered files."""

    source: str
    rendered: str


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
    documents: Iterable[Document] = (
        chain.from_iterable(read_documents(file.source) for file in files) if files else _last_jobs(jobs, checked)
    )
    branches = {
        Branches(source_branch(document), rendered_branch(document)) if rendered_branch(document) else None
        for document in documents
    }
    if len(branches) > 1:
        raise UsageError("the jobs name several branches in gitops.rendered; commit the jobs of each branch separately")
    return next(iter(branches), None)


def _last_jobs(jobs: Sequence[Path], checked: Checked) -> list[Document]:
    """Read the jobs of the last commit that contains jobs at the paths of the command line."""
    revisions = chain((HEAD,), chain.from_iterable(map(before_removals, jobs)))
    documents = ([pair.before.read() for pair in _pairs(jobs, checked, commit) if pair.before] for commit in revisions)
    return next(filter(None, documents), [])


def commit_rendered(
    jobs: Sequence[Path], results: FileResults, spool: Spool, branches: Branches, options: CommitOptions
) -> Outcome:
    """Commit the job files to their branch, and commit the rendered files to the branch of rendered files.

    Args:
        jobs: the files and folders of the command line.
        results: the checked jobs.
        spool: the spool with the rendered files.
        branches: the branches of the jobs.
        options: the options of the commit.

    Raises:
        ProblemsError: the jobs have errors.
        UsageError: git, the repository, the branch or the remote does not exist.
        RefusedError: a hook, the signing program or the remote refuses.
        ConflictsError: a file in the branch of rendered files was edited by hand.
        TfgenError: git or the disk fails.
    """
    out, branch, pushes = options.out, options.branch, options.pushes
    before = open_repository(out)
    is_tip = not branch and is_remote_tip(before, branches.source)
    if not is_tip:
        before = open_on_branch(out, branch)
    name = branches.source if is_tip else branch or before.branch
    if branches.rendered in (name, branches.source):
        raise UsageError(
            f"gitops.rendered: the branch {branches.rendered} contains the job files; choose a different branch"
        )
    to = target(before.replaced(branch=name)) if pushes and not is_tip else None
    to_rendered = target(before.replaced(branch=branches.rendered)) if pushes else None
    is_rendered = name == branches.source
    since = _last_source_commit(before, find_tip(before, branches.rendered, to_rendered)) if is_rendered else HEAD
    report = check_for_commit(results, spool, out, since, find_pushed(before, to) if to else "")
    if not (is_rendered or _pairs(jobs, results.checked, HEAD)):
        raise no_job_below(jobs)
    committed, is_replayed = _commit_sources(jobs, results.checked, before, options=options, to=to)
    if is_replayed and is_rendered:
        results = check_files(read_sources(jobs, may_be_none=True), {}, spool, results.scope, untracked)
        report = check_for_commit(results, spool, out, since)
    outcome = committed.replaced(problems=report.problems, notes=report.notes)
    if not is_rendered:
        note = (
            f"the branch {branches.rendered} has only rendered files of the branch {branches.source} (gitops.branch), "
            f"so tfgen did not render the branch {name}"
        )
        return outcome.replaced(notes=(*report.notes, note))
    folder = real_path(out).relative_to(real_path(before.root))
    work = _Work(jobs, results.checked, spool, report, since, options.message, folder)
    return outcome.replaced(rendered=_render_into(before, branches.rendered, to_rendered, work))


def _pairs(jobs: Sequence[Path], checked: Checked, revision: str) -> tuple[PairPlaces, ...]:
    return pair_jobs(checked, revision, removed_files(jobs, CommitTree(revision))).pairs


def _last_source_commit(repository: Repository, tip: str) -> str:
    """Return the id of the commit whose job files tfgen rendered last; HEAD if no such commit exists.

    The message of `tip`, the last commit of rendered files, contains the id. If tfgen has not committed rendered files
    yet, `tip` is empty.
    """
    named = trailer(repository, tip, SOURCE_COMMIT) if tip else ""
    return named if named and has_commit(repository, named) else HEAD


# -- the jobs --------------------------------------------------------------------------------------------------------


def _commit_sources(
    jobs: Sequence[Path], checked: Checked, before: Repository, *, options: CommitOptions, to: Target | None
) -> tuple[Outcome, bool]:
    """Commit the job files and their defaults, and push the branch.

    Return the result, and whether the push rebased the commits on top of new commits of the remote branch.
    """
    branch, message = options.branch, options.message
    pairs = _pairs(jobs, checked, HEAD)
    files = {pair.name: {*paths_from_root(before, source_paths(pair)).values()} for pair in pairs}
    paths = {path for names in files.values() for path in names}
    check_paths(before, {}, paths)
    changed_paths = changed(before, paths)
    if branch not in ("", before.branch) and not changed_paths:
        raise UsageError(f"nothing has changed, so tfgen does not create the branch {branch}")
    if changed_paths:
        changed_paths += changed(before, repository_files(before))
    repository, written = before, ""
    ends = find_run_ends(pairs) if changed_paths else ()
    if changed_paths and not (branch or before.branch):
        raise UsageError(
            f"no branch is checked out (a detached HEAD), and {changed_paths[0]} has changes; check out a branch"
        )
    if changed_paths:
        message = message or commit_message(job_words(pairs, files, changed_paths))
        repository, written = commit_to_branch(before, branch, changed_paths, message)
    is_replayed = bool(to and push_branch(repository, to).is_done)
    if is_replayed and written:
        written = resolved(repository.root)
    outcome = Outcome(
        commit=written,
        message=message,
        files=tuple(changed_paths),
        branch=repository.branch,
        pushed_to=str(to) if to else "",
        problems=(),
        notes=(),
        ends=ends,
    )
    return outcome, is_replayed


# -- the rendered files ----------------------------------------------------------------------------------------------


class _Work(Record):
    """The input of a commit to the branch of rendered files.

    Attributes:
        jobs: the files and folders of the command line.
        checked: the checked jobs.
        spool: the spool with the rendered files.
        report: the report of the check.
        since: the commit to compare with.
        message: the message of the commit; empty for a generated message, such as "mnist: workers 4 -> 8".
        folder: the path of the output folder from the root of the repository.
    """

    jobs: Sequence[Path]
    checked: Checked
    spool: Spool
    report: Report
    since: str
    message: str
    folder: Path


def _render_into(repository: Repository, branch: str, to: Target | None, work: _Work) -> Outcome:
    """Commit rendered files to their branch, and push. Repeat both steps if the remote branch has new commits."""
    longest_s = 0.0
    for attempt in range(ATTEMPTS):
        began = time.monotonic()
        tip = find_tip(repository, branch, to)
        outcome = _commit_once(repository, branch, tip, work)
        commit = outcome.commit or tip
        if to is None or not commit or push_commit(repository, to, commit, f"nothing is committed to {branch}"):
            if commit:
                move_branch(repository, branch, commit)
            return outcome.replaced(pushed_to=str(to) if to and commit else "")
        longest_s = max(longest_s, time.monotonic() - began)
        wait(attempt, longest_s)
    raise RefusedError(
        f"the branch {branch} had new commits in each of {ATTEMPTS} attempts, so nothing was committed; "
        "run the command again"
    )


def _commit_once(repository: Repository, branch: str, tip: str, work: _Work) -> Outcome:
    with working_tree(repository, tip) as tree:
        out = tree.root / work.folder
        pairs = _pairs(work.jobs, work.checked, work.since)
        removed = removed_files(work.jobs, CommitTree(work.since))
        names = {job.name for job in work.report.jobs}
        ledgers = read_ledgers(out)
        removals = find_removed_jobs(ledgers.sources, work.jobs, names, removed)
        if not (pairs or removals):
            raise no_job_below(work.jobs)
        renderings = all_renderings(work.report, removals, work.spool)
        plan = plan_write(out, renderings, find_committed=committed_jobs(out, HEAD), store=work.spool.store)
        if plan.conflicts:
            raise ConflictsError(plan.conflicts, "tfgen render --force")
        again = compare_overlays(pairs, plan, HEAD, is_written=True, find_changed=changed_files(out, HEAD))
        stop_at_errors(again.problems, NOT_COMMITTED)
        apply(plan)
        touched = [job.rendering.job for job in plan.jobs if job.touches_files() or job.before != job.after]
        source = resolved(repository.root)
        text = work.message or _generated_message(pairs, touched, ledgers)
        message = f"{text.rstrip()}\n\n{SOURCE_COMMIT}: {source}"
        commit = commit_all(tree, tip, message)
        files = tuple(f"{work.folder / path}" for path in (*plan.created, *plan.changed, *plan.removed))
    return Outcome(
        commit=commit,
        message=message,
        files=tuple(sorted(files)) if commit else (),
        branch=branch,
        pushed_to="",
        problems=again.problems,
        notes=again.notes,
    )


def _generated_message(pairs: Sequence[PairPlaces], touched: Sequence[str], rendered_jobs: Collection[str]) -> str:
    """Return the commit message for the jobs whose rendered files change, such as "mnist: workers 4 -> 8".

    Args:
        pairs: the committed and the current version of each job.
        touched: the names of the jobs whose rendered files change.
        rendered_jobs: the names of the jobs that the branch of rendered files already contains.
    """
    pair_by_name = {pair.name: pair for pair in pairs}
    changes = {name: job_changes(pair_by_name[name].read()) for name in touched if name in pair_by_name}
    words = {
        name: (changes.get(name) or ["rendered again"]) if name in rendered_jobs else ["new job"] for name in touched
    }
    return commit_message(words or {HEAD: ["nothing new"]})
