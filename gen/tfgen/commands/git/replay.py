"""Publish the branch of the job files: check the jobs, push, and replay local commits on top of new remote commits.

If two people change one job, both also change the ledger, Chart.yaml and other rendered files of the job. git would
report conflicts in these files, even if the changes of job.yaml merge cleanly. So tfgen applies only the changes of
files that are not rendered, such as job.yaml, and then renders the changed jobs again. Only a conflict in a file that
is not rendered stops the replay, or a job that has another name in the remote branch.

At the end, tfgen checks the jobs against the remote branch, because a merged job may need a new run.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tfgen import data_path
from tfgen.check.manifests import read_foreign_manifests
from tfgen.commands.render import render_paths
from tfgen.errors import ProblemsError, TfgenError, in_order, stop_at_errors
from tfgen.git import publish
from tfgen.git.commit import GitRefusedError, Repository
from tfgen.git.publish import PushTarget, RebaseConflictError
from tfgen.git.tree import HEAD, CommitTree, resolved
from tfgen.job.sources import FILE, contains_job, has_name_of_job, output_root, read_sources
from tfgen.pipeline.check import full_check
from tfgen.pipeline.read import FileResults, Report, check_files, find_loosened_rails
from tfgen.pipeline.scope import CheckScope, untracked
from tfgen.record import Record
from tfgen.text.parse import parse
from tfgen.tree.ledger import LEDGER_FOLDER, job_of, parse_ledger
from tfgen.tree.plan import ConflictsError
from tfgen.tree.staging import Staging
from tfgen.tree.write import read_ledgers
from tfgen.words import command_line

NOT_COMMITTED: Final = "nothing was committed: the jobs have errors"


class Replayed(Record):
    """The result of the replay of the local commits on top of new commits of the remote branch.

    Attributes:
        sources: the job files that were rendered again, as paths from the root of the repository.
        is_empty: whether the remote branch already had all changes of the local commits.
    """

    sources: frozenset[str]
    is_empty: bool


def check_for_commit(results: FileResults, staging: Staging, out: Path, against: str, pushed: str = "") -> Report:
    """Check jobs before tfgen writes their files. Compare the jobs with a revision, and with the last pushed commit.

    Args:
        results: the jobs.
        staging: the staging folder with the rendered files.
        out: the output folder.
        against: the revision to compare with.
        pushed: the last pushed commit, if HEAD has commits that are not pushed; empty if HEAD is pushed.

    Raises:
        ProblemsError: the jobs have errors.
        UsageError: a revision does not exist, or a tfgen.yaml cannot be read.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    report = _check_with_rails(results, staging, out, against)
    stop_at_errors(report.problems, NOT_COMMITTED)
    if pushed:
        message = "nothing was committed or pushed: the jobs have errors when compared with the last pushed commit"
        stop_at_errors(_check_with_rails(results, staging, out, pushed).problems, f"{message} {pushed[:12]}")
    return report


def _check_with_rails(results: FileResults, staging: Staging, out: Path, against: str) -> Report:
    report = full_check(results, staging, against=against, out=out, is_written=True)
    loosened = find_loosened_rails([out], results.checked.sources, against)
    return report.replaced(problems=in_order((*report.problems, *loosened)))


def publish_jobs(repository: Repository, to: PushTarget) -> Replayed | None:
    """Push the branch that is checked out. If the remote branch has new commits, first replay the local commits.

    The result is None without a replay.

    Raises:
        GitRefusedError: the remote branch changes the same files, or renames a job that a local commit changes. The
            message lists the commands to continue.
        ProblemsError: the merged jobs have errors. The message lists the commands to continue.
        TfgenError: git or the disk fails.
    """
    replays: list[Replayed] = []

    def render(attempt: int) -> tuple[str, None]:
        if attempt and (replayed := publish.rebase(repository, to, partial(_replay, to))):
            replays.append(replayed)
        return f"refs/heads/{repository.branch}", None

    steps = (
        f"git pull --rebase {shlex.join((to.remote, to.branch))}",
        "# resolve the conflicts in your files that git status lists",
        "tfgen render JOB... && tfgen check JOB...  # if check reports new-run: tfgen rerun JOB, and repeat the line",
        "git add JOB... :/.tfgen :/charts :/overlays && git rebase --continue",
        "tfgen commit JOB... --push",
    )
    advice = "To continue:\n" + "\n".join(f"  {step}" for step in steps)
    try:
        publish.publish(repository, to, render, f"the commit stays in {repository.branch}")
    except RebaseConflictError as error:
        raise GitRefusedError(f"{error}. {advice}") from error
    except ProblemsError as error:
        raise ProblemsError(error.problems, f"{error}. {advice}") from error
    if not replays:
        return None
    return Replayed(frozenset().union(*(replayed.sources for replayed in replays)), replays[-1].is_empty)


def _replay(to: PushTarget, tree: Repository, tip: str) -> Replayed:
    """Apply the local commits up to `tip` in a temporary working tree, whose HEAD is the remote branch.

    Raises:
        RebaseConflictError: a file that tfgen does not render has a conflict.
        ProblemsError: the merged jobs have errors, or need a new run.
        GitRefusedError: somebody renamed a changed job, or edited a rendered file in the remote branch.
        TfgenError: git or the disk fails.
    """
    upstream = tree.head
    merged: dict[str, set[str]] = {}
    rendered: set[str] = set()
    for commit in publish.commits_to_replay(tree, tip):
        publish.pick(tree, commit)
        changed, differing = publish.changed_by(tree, commit), publish.differing_files(tree, commit)
        of_render, job_files = _files_of_jobs(tree, commit, changed)
        of_jobs = of_render.union(*job_files.values())
        # The remote branch changes a file of these jobs, or a tfgen.yaml.
        needs_render = bool(of_jobs) and any(path in of_jobs or Path(path).name == FILE for path in differing)
        if needs_render:
            publish.pick_without(tree, commit, of_render)
        if conflicts := publish.unmerged_files(tree):
            raise RebaseConflictError(tree, to, conflicts)
        _check_names(tree, to, commit, changed)
        if needs_render:
            _render(tree, to, job_files)
            for folder, sources in job_files.items():
                merged.setdefault(folder, set()).update(sources)
                rendered |= sources
        for path in changed & differing:
            if _is_job_file(tree, path):
                folder = os.path.relpath(output_root((tree.root / path).parent), tree.root)
                merged.setdefault(folder, set()).add(path)
        publish.commit_picked(tree, commit)
    for folder, paths in merged.items():
        _check(tree, to, upstream, folder, paths)
    return Replayed(frozenset(rendered), is_empty=resolved(tree.root) == upstream)


def _check_names(tree: Repository, to: PushTarget, commit: str, changed: Iterable[str]) -> None:
    """Check that the changes of a commit, which are in the index, change no job that the commit does not name.

    git applies a change of a job file to a renamed job file, and to the renamed job in this file, without a conflict.
    The rendered files would then start a run of a job that the author of the commit has not seen.

    Raises:
        GitRefusedError: the remote branch renamed a job that the commit changes. The message lists the commands to
            continue.
    """
    names = [path for path in changed if has_name_of_job(tree.root / path)]
    before, after = (
        dict(chain.from_iterable(_jobs_at(tree, path, revision).items() for path in names))
        for revision in (f"{commit}^", commit)
    )
    changed_jobs = {job for job, data in after.items() if job in before and before[job] != data}
    staged = sorted(tree.names("diff", "--cached", "--no-renames", "--name-only", "-z", "HEAD")) if changed_jobs else []
    merged = {job: path for path in staged if _is_job_file(tree, path) for job in _jobs_at(tree, path)}
    renamed = sorted(changed_jobs - merged.keys())
    new = sorted(merged.keys() - before.keys() - after.keys())
    if renamed and new:
        kept, file = f"{renamed[0]}-edit", merged[new[0]]
        steps = (
            f"git branch {kept}  # this branch keeps the commit",
            f"git fetch {shlex.join((to.remote, to.branch))} && git reset --keep FETCH_HEAD",
            f"# change the job {new[0]} in {file}; git show {kept} prints the change of {renamed[0]}",
            command_line("commit", file, "--push"),
        )
        raise GitRefusedError(
            f"{to} renamed the job {renamed[0]} to {new[0]}, so the commit {commit[:12]} would change {new[0]}; the "
            f"commit stays in the local branch {tree.branch} and is not pushed. To continue:\n"
            + "\n".join(f"  {step}" for step in steps)
        )


def _jobs_at(tree: Repository, path: str, revision: str = "") -> dict[str, Any]:
    """Return the data of each job in a job file, by name of the job. `revision` is a commit; empty for the disk."""
    file = tree.root / path
    content: bytes | None = None
    with suppress(TfgenError):  # the first commit has no parent
        content = CommitTree(revision).read(file) if revision else file.read_bytes()
    if content is None or not contains_job(content):
        return {}
    documents = parse(content.decode("utf-8", errors="replace"), path).documents
    return {str(data_path.at(document.data, ("metadata", "name"))): document.data for document in documents}


def _files_of_jobs(tree: Repository, commit: str, changed: Iterable[str]) -> tuple[set[str], dict[str, set[str]]]:
    """Return the files of the jobs that a commit changes. A commit changes a job if it changes the ledger of the job.

    The first item of the result contains the ledgers of these jobs, and each file that a ledger lists in the commit, in
    its parent commit or in the remote branch. The second item contains the job files, by output folder. `changed` has
    the paths of all files that the commit changes. All paths are relative to the root of the repository.
    """
    rendered: set[str] = set()
    sources: dict[str, set[str]] = {}
    for path in map(PurePosixPath, changed):
        job = job_of(path.name) if path.parent.name == LEDGER_FOLDER else None
        if job is None:
            continue
        folder = path.parent.parent
        rendered.add(str(path))
        for revision in (f"{commit}^", commit, HEAD):
            with suppress(TfgenError):  # the commit does not exist, or has no valid ledger
                content = CommitTree(revision).read(tree.root / path) or b""
                ledger = parse_ledger(job, content.decode("utf-8", errors="replace"))
                rendered |= {str(folder / name) for name in ledger.paths()}
                # In the ledger, the path of the job file is relative to the output folder or to the root.
                places = [str(folder / ledger.source), ledger.source] if ledger.source else []
                existing = [place for place in places if (tree.root / place).exists()]
                sources.setdefault(str(folder), set()).update((existing or places)[:1])
    return rendered, sources


def _is_job_file(tree: Repository, path: str) -> bool:
    file = tree.root / path
    return has_name_of_job(file) and file.is_file() and contains_job(file.read_bytes())


def _render(tree: Repository, to: PushTarget, job_files: Mapping[str, Iterable[str]]) -> None:
    """Render the job files of a commit, by output folder, into the temporary working tree, and stage the result."""
    for folder, sources in job_files.items():
        out = tree.root / folder
        ledger_sources = {str(PurePosixPath(folder, source)) for source in read_ledgers(out).sources.values()}
        paths = [tree.root / path for path in sorted(sources) if (tree.root / path).exists() or path in ledger_sources]
        if not paths:
            continue
        try:
            with _merge_errors(tree, to), render_paths(paths, out, upgrade=True, track=untracked):
                pass
        except ConflictsError as error:
            raise GitRefusedError(
                f"somebody edited rendered files in {to}; the commit stays in the local branch {tree.branch} "
                f"and is not pushed: {error}"
            ) from error
    tree.git("add", "--all").output()


def _check(tree: Repository, to: PushTarget, upstream: str, folder: str, sources: Iterable[str]) -> None:
    """Check the merged jobs in the job files `sources` of an output folder against the remote commit `upstream`.

    Raises:
        ProblemsError: the jobs have errors.
    """
    out = tree.root / folder
    paths = [tree.root / path for path in sorted(sources) if (tree.root / path).exists()]
    files = read_sources(paths, may_be_none=True)
    find_manifests = cache(lambda: read_foreign_manifests(out, read_ledgers(out)))
    with Staging(out, is_inside=False) as staging, _merge_errors(tree, to):
        results = check_files(files, {}, staging, CheckScope(find_manifests=find_manifests), untracked)
        check_for_commit(results, staging, out, upstream)


@contextmanager
def _merge_errors(tree: Repository, to: PushTarget) -> Iterator[None]:
    """Convert each ProblemsError of the `with` block: shorten the paths, and add a note that tfgen pushed nothing."""
    root = f"{tree.root}/"
    try:
        yield
    except ProblemsError as error:
        problems = (
            problem.replaced(file=problem.file.removeprefix(root), message=problem.message.replace(root, ""))
            for problem in error.problems
        )
        message = f"nothing was pushed: the jobs have errors when merged with {to}; the commit stays in {tree.branch}"
        raise ProblemsError(problems, message) from error
