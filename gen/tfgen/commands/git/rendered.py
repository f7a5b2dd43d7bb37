"""The branch of rendered files of jobs with ``gitops.rendered``: commit the rendered files of the jobs to the branch.

`tfgen commit` first commits the job files and their defaults to the current branch. Then tfgen renders the jobs in a
temporary working tree, and commits the rendered files to the separate branch. The message of the second commit contains
the id of the first commit. So the branch of the job files contains no rendered file, and the clusters read only
rendered files.

tfgen renders only the jobs of the branch `gitops.branch`, so a commit to a different branch changes no cluster.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

from tfgen import __version__
from tfgen.change.committed import changed_files, committed_jobs
from tfgen.change.comparison import PairPlaces, pair_jobs
from tfgen.change.job_diff import JobDiff
from tfgen.change.rerendered import compare_overlays
from tfgen.check.checked import Checked
from tfgen.check.files import HAND_EDITED, NOT_REPRODUCED, difference, first_difference
from tfgen.check.manifests import read_foreign_manifests
from tfgen.commands.git.message import commit_message, job_changes
from tfgen.commands.git.replay import NOT_COMMITTED
from tfgen.disk_file import real_path, repository_root
from tfgen.errors import Position, Problem, UsageError, stop_at_errors
from tfgen.git.commit import GitRefusedError, Repository
from tfgen.git.history import before_removals
from tfgen.git.publish import PushTarget, commit_all, find_tip, is_ancestor, publish, worktree
from tfgen.git.tree import HEAD, CommitTree, is_shallow, resolved
from tfgen.job.facts import name_of, rendered_branch, source_branch
from tfgen.job.sources import no_job_below, read_documents, read_sources, removed_files
from tfgen.pipeline.read import FileResults, Report, check_files, find_job_at, find_removed_jobs
from tfgen.pipeline.scope import CheckScope, untracked
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.tree.folder import OutputFolder
from tfgen.tree.ledger import ledger_path
from tfgen.tree.plan import ConflictsError, FileAction, JobPlan, WritePlan, WriteRequest
from tfgen.tree.staging import Staging
from tfgen.tree.write import apply, plan_write, read_ledgers
from tfgen.words import command_line

SOURCE_COMMIT: Final = "Source-commit"
"""Trailer of a commit of rendered files. The value is the id of the commit of the job files."""


class Branches(Record):
    """The branch of the job files, and the branch of their rendered files."""

    source: str
    rendered: str


class Work(Record):
    """The input of a commit.

    Attributes:
        jobs: the files and folders of the command line.
        results: the checked jobs.
        staging: the staging folder with the rendered files.
        out: the output folder.
        message: the message of the commit; empty for a generated message, such as "mnist: workers 4 -> 8".
        branch: the name of a new branch for the commit of the job files; empty for the current branch.
        pushes: whether to push the commit.
    """

    jobs: Sequence[Path]
    results: FileResults
    staging: Staging
    out: Path
    message: str
    branch: str
    pushes: bool


class Outcome(Record):
    """The result of `tfgen commit`.

    Attributes:
        commit: the id of the commit; empty if nothing changed.
        files: the paths of the changed files from the root of the repository.
        branch: the branch of the commit.
        pushed_to: REMOTE/BRANCH; empty without a push.
        problems: the problems that are not errors.
        notes: messages for the user that are not problems.
        rendered: the result of the commit to a separate branch for rendered files; None without such a branch.
        ends: the runs that the commit ends, and the claims that remain in the cluster.
    """

    commit: str
    message: str
    files: tuple[str, ...]
    branch: str
    pushed_to: str = ""
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    rendered: Outcome | None = None
    ends: tuple[JobDiff, ...] = ()


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


def plan_files(work: Work, out: Path, report: Report, pairs: Sequence[PairPlaces], since: str, force: str) -> WritePlan:
    """Plan the write of the rendered files of the checked jobs, and the removal of the files of removed jobs.

    Args:
        work: the commit.
        out: the output folder: `work.out`, or the folder in the working tree of another branch.
        report: the report of the check.
        pairs: the jobs of the commit.
        since: the revision whose jobs count as removed if their files are missing.
        force: the command that writes the files in spite of conflicts, for the message of an error.

    Raises:
        UsageError: the paths of the command line contain no job and no removed job.
        ConflictsError: a file was edited by hand, or another job file has a job.
    """
    removed = removed_files(work.jobs, CommitTree(since))
    removals = find_removed_jobs(read_ledgers(out).sources, work.jobs, {job.name for job in report.jobs}, removed)
    if not (pairs or removals):
        raise no_job_below(work.jobs)
    plan = plan_write(
        WriteRequest(
            out,
            [*(job.rendering for job in report.jobs), *removals],
            find_committed=committed_jobs(out, HEAD),
            has_job=find_job_at(job.place.file for job in report.jobs),
            staging=work.staging,
        )
    )
    if plan.conflicts:
        raise ConflictsError(plan.conflicts, force)
    return plan


def commit_rendered(
    repository: Repository, branch: str, to: PushTarget | None, work: Work, report: Report, since: str
) -> Outcome:
    """Render jobs into the branch of rendered files, and push the branch if `to` is not None.

    Args:
        repository: the repository, whose HEAD has the job files.
        branch: the branch of rendered files.
        to: the remote branch; None without a push.
        work: the commit of the job files.
        report: the report of the check.
        since: the commit to compare with.

    Raises:
        ProblemsError: a job needs a new run.
        GitRefusedError: the remote refuses, or a file in the branch was edited by hand.
        ConflictsError: another job file has the job, whose rendered files are in the branch.
        TfgenError: git or the disk fails.
    """
    root = real_path(repository.root)
    folder, source = real_path(work.out).relative_to(root), resolved(repository.root)

    def render(_: int) -> tuple[str, Outcome]:
        tip = find_tip(repository, branch, to)
        with worktree(repository, tip) as tree:
            out = tree.root / folder
            pairs = pairs_at(work.jobs, work.results.checked, since)
            try:
                plan = plan_files(work, out, report, pairs, since, "tfgen render --force --out")
            except ConflictsError as error:
                if not all(conflict.can_force for conflict in error.conflicts):
                    raise
                files = {real_path(path).relative_to(root).as_posix() for path in work.jobs}
                raise GitRefusedError(f"{error}\n{_steps(repository, branch, tip, files, folder)}") from error
            again = compare_overlays(pairs, plan, HEAD, is_written=True, find_changed=changed_files(out, HEAD))
            stop_at_errors(again.problems, NOT_COMMITTED)
            apply(plan)
            message = f"{(work.message or _message(plan, pairs)).rstrip()}\n\n{SOURCE_COMMIT}: {source}"
            commit = commit_all(tree, message, has_parent=bool(tip))
        names = (f"{folder / path}" for path in (*plan.created, *plan.changed, *plan.removed)) if commit else ()
        outcome = Outcome(commit, message, tuple(sorted(names)), branch, problems=again.problems, notes=again.notes)
        return commit or tip, outcome

    commit, outcome = publish(repository, to, render, f"nothing is committed to {branch}")
    if commit:
        repository.git("update-ref", f"refs/heads/{branch}", commit).output()
    return outcome.replaced(pushed_to=str(to) if to and commit else "")


def _message(plan: WritePlan, pairs: Sequence[PairPlaces]) -> str:
    """Return the message of a commit of rendered files, such as "mnist: workers 4 -> 8"."""
    pair_by_name = {pair.name: pair for pair in pairs}
    changes: dict[str, Sequence[str]] = {}
    for job in (planned.plan for planned in plan.jobs):
        if job.touches_files() or job.before != job.after:
            name = job.rendering.job
            words = job_changes(pair_by_name[name].read()) if name in pair_by_name else []
            changes[name] = (words or ["rendered again"]) if name in plan.ledgers else ["new job"]
    return commit_message(changes or {HEAD: ["nothing new"]})


# -- verify ----------------------------------------------------------------------------------------------------------


def verify_rendered(out: Path, checked: Checked) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    """Compare each branch of rendered files with the files that this version of tfgen renders from its source commit.

    The last local or fetched commit of each branch counts. Files of jobs that the source commit does not have are not
    compared.

    Args:
        out: the output folder.
        checked: the checked jobs.

    Returns:
        A problem for each file that differs, and the notes with the commands that render the files again.

    Raises:
        TfgenError: git or the disk fails.
    """
    documents = chain.from_iterable(read_documents(file.source) for file in checked.valid_files)
    jobs: dict[Branches, set[str]] = {}
    for document in documents:
        if branch := rendered_branch(document):
            jobs.setdefault(Branches(source_branch(document), branch), set()).add(name_of(document))
    problems: list[Problem] = []
    notes: list[str] = []
    for branches, names in jobs.items():
        repository = Repository(repository_root(out) or out, "", HEAD)
        commits = repository.text("for-each-ref", "--format=%(objectname)", *_refs(branches.rendered)).split()
        if not commits:
            notes.append(
                f"this clone has no branch {branches.rendered} (gitops.rendered), so tfgen did not verify its files; "
                f"to fetch the branch: git fetch origin {branches.rendered}:refs/remotes/origin/{branches.rendered}"
            )
            continue
        tip = commits[0]
        for commit in commits[1:]:
            tip = commit if is_ancestor(repository, tip, commit) else tip
        found, files = _verify_tip(repository, branches, tip, names, out)
        problems += found
        if files:
            folder = real_path(out).relative_to(real_path(repository.root))
            notes.append(_steps(repository, branches.rendered, tip, files, folder))
    return tuple(problems), tuple(notes)


def _refs(branch: str) -> tuple[str, str]:
    return f"refs/heads/{branch}", f"refs/remotes/*/{branch}"


def _verify_tip(
    repository: Repository, branches: Branches, tip: str, names: Set[str], out: Path
) -> tuple[list[Problem], set[str]]:
    """Return the problems of the commit `tip` of a branch of rendered files, and the job files of these problems."""
    trailer = f"--format=%(trailers:key={SOURCE_COMMIT},valueonly)"
    source = repository.text("log", "-1", f"--grep=^{SOURCE_COMMIT}: ", trailer, tip)
    known = [HEAD, *repository.text("for-each-ref", "--format=%(refname)", *_refs(branches.source)).split()]
    if not (source and any(is_ancestor(repository, source, revision) for revision in known)):
        message = (
            f"the commit {tip[:12]} has the {SOURCE_COMMIT} {source or '(none)'}, which the branch {branches.source} "
            "does not contain"
        )
        if is_shallow(repository.root):
            message += "; the clone is shallow, so first run git fetch --unshallow"
        return [Problem(branches.rendered, Position(1, 1), message, NOT_REPRODUCED)], {"JOB..."}
    folder = real_path(out).relative_to(real_path(repository.root))
    prefix = f"{branches.rendered}:" if folder == Path() else f"{branches.rendered}:{folder.as_posix()}/"
    problems: list[Problem] = []
    files: set[str] = set()
    with (
        worktree(repository, source) as jobs,
        worktree(repository, tip) as tree,
        Staging(tree.root / folder, is_inside=False) as staging,
    ):
        at_source = jobs.root / folder
        find_manifests = cache(lambda: read_foreign_manifests(at_source, read_ledgers(at_source)))
        scope = CheckScope(find_manifests=find_manifests)
        results = check_files(read_sources([jobs.root], may_be_none=True), {}, staging, scope, untracked)
        rendered = [job for file in results.rendered.values() for job in file.jobs if job.name in names]
        plan = plan_write(WriteRequest(tree.root / folder, [job.rendering for job in rendered], staging=staging))
        with OutputFolder(plan.out) as disk:
            for job, planned in zip(rendered, plan.jobs, strict=True):
                file = Path(job.place.file).relative_to(jobs.root).as_posix()
                of_job = [*_differences(planned.plan, disk, prefix, file, source)]
                problems += of_job
                files |= {file} if of_job else set()
    return problems, files


def _differences(job: JobPlan, disk: OutputFolder, prefix: str, file: str, source: str) -> Iterator[Problem]:
    """Yield a problem for each file of a job that differs from the file that this version of tfgen renders.

    A file that differs from its digest in the ledger was edited by hand. `prefix` is the beginning of the file names in
    problems, `file` is the job file, and `source` is the commit of the job file.
    """
    renderer = f"tfgen {__version__}"
    of_source = f"from {file} of the commit {source[:12]}"
    if job.before and job.before.tool_version != __version__:
        of_source += f" (the ledger names tfgen {job.before.tool_version})"
    for change in job.changes:
        path, is_missing = change.path, change.before is None
        if change.action is FileAction.KEEP:
            continue
        line, what = 1, f"{renderer} does not render the file"
        if change.action is FileAction.CREATE:
            what = "the file is missing"
        elif change.action is FileAction.CHANGE:
            line, actual, expected = first_difference(disk.read_text(path), job.text(change.path))
            what = difference(actual, expected, renderer)
        is_edited = bool(
            job.before and path in job.before.files and (is_missing or not job.before.wrote(path, change.before or ""))
        )
        rule = HAND_EDITED if is_edited else NOT_REPRODUCED
        yield Problem(f"{prefix}{path}", Position(line, 1), f"{what} {of_source}", rule)
    if not job.touches_files() and job.before != job.target:
        name = ledger_path(job.rendering.job)
        what = f"the ledger differs from the ledger that {renderer} writes {of_source}"
        yield Problem(f"{prefix}{name}", Position(1, 1), what, NOT_REPRODUCED)


def _steps(repository: Repository, branch: str, tip: str, files: Collection[str], folder: Path) -> str:
    """Return the commands that render job files again on top of the last commit `tip` of a branch of rendered files."""
    remotes = repository.text("for-each-ref", "--format=%(refname:short)", f"refs/remotes/*/{branch}").split()
    tree = f"../{repository.root.name}-{branch.replace('/', '-')}"
    out = tree if folder == Path() else f"{tree}/{folder.as_posix()}"
    git_tree = f"git -C {shlex.quote(tree)}"
    if remotes:
        remote = remotes[0].removesuffix(f"/{branch}")
        ends = [f"{git_tree} push {shlex.join((remote, f'HEAD:{branch}'))}"]
    else:
        ends = [f"git branch --force {shlex.quote(branch)} $({git_tree} rev-parse HEAD)"]
    steps = (
        f"cd {shlex.quote(str(repository.root))}",
        f"git worktree add --detach {shlex.quote(tree)} {tip[:12]}",
        command_line("render", *sorted(files), "--force", "--upgrade", "--out", out),
        f"{git_tree} add --all",
        f'{git_tree} commit --message "Render again" --message "{SOURCE_COMMIT}: $(git rev-parse HEAD)"',
        *ends,
        f"git worktree remove {shlex.quote(tree)}",
    )
    lines = "".join(f"\n  {step}" for step in steps)
    return f"to replace the files in the branch {branch} by the files that tfgen renders:{lines}"
