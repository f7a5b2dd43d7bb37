"""Rebase local commits on a remote branch: merge job files, and render the rendered files again.

    push(repository, to, JobReplay())

If two people change one job, both also change the ledger, Chart.yaml and other rendered files of the job. git would
report conflicts in these files, even if the changes of job.yaml merge cleanly. So tfgen applies only the changes of
files that are not rendered, such as job.yaml, and then renders the changed jobs again. Only a conflict in a file that
is not rendered stops the rebase.

At the end, tfgen checks the jobs against the remote branch, because a merged job may need a new run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from tfgen.check.manifests import read_foreign_manifests
from tfgen.commands.git.commit_check import check_for_commit
from tfgen.commands.pipeline.check_files import check_files
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.track import untracked
from tfgen.commands.render import render_paths
from tfgen.errors import TfgenError
from tfgen.git.commit import RefusedError, Repository
from tfgen.git.push import RebaseConflictError, Target
from tfgen.git.replay import (
    changed_by,
    commit_picked,
    commits_to_replay,
    differing_files,
    drop_changes,
    pick,
    stage_all,
    unmerged_files,
    without_changes,
)
from tfgen.git.tree import HEAD, CommitTree, resolved
from tfgen.job.defaults import FILE
from tfgen.job.output_root import output_root
from tfgen.job.sources import contains_job, has_name_of_job, read_sources
from tfgen.problems import Problem, ProblemsError
from tfgen.tree.ledger import LEDGER_FOLDER, Ledger, job_of, parse_ledger
from tfgen.tree.plan import ConflictsError
from tfgen.tree.spool import Spool
from tfgen.tree.write import read_ledgers


class _JobFiles(NamedTuple):
    """The files of all jobs that a commit changes. All paths are relative to the root of the repository.

    Attributes:
        rendered: the ledgers of these jobs, and each file that a ledger lists in the commit, in its parent commit or in
            the remote branch.
        sources: the paths of the job files, by output folder.
    """

    rendered: frozenset[str]
    sources: Mapping[str, frozenset[str]]


class JobReplay:
    """A rebase of local commits on a remote branch. `push` calls the object if the remote branch has new commits.

    Attributes:
        is_done: whether the rebase has run.
        is_empty: whether the rebase has run, and the remote branch already had all changes of the local commits.
        sources: the job files that were rendered again, as paths from the root of the repository.
    """

    def __init__(self) -> None:
        self.is_done = self.is_empty = False
        self.sources: set[str] = set()

    def __call__(self, tree: Repository, to: Target, tip: str) -> None:
        """Apply the local commits up to `tip` on top of the remote branch.

        HEAD of the temporary working tree `tree` is the remote branch.

        Raises:
            RebaseConflictError: a file that tfgen does not render has a conflict.
            ProblemsError: the merged jobs have errors, or need a new run.
            RefusedError: somebody edited a rendered file in the remote branch.
            TfgenError: git or the disk fails.
        """
        upstream = tree.head
        merged: dict[str, set[str]] = {}
        for commit in commits_to_replay(tree, tip):
            pick(tree, commit)
            changed, differing = changed_by(tree, commit), differing_files(tree, commit)
            files = _files_of_jobs(tree, commit, changed)
            needs_render = _needs_render(differing, files)
            if needs_render:
                drop_changes(tree)
                pick(tree, without_changes(tree, commit, files.rendered))
            if conflicts := unmerged_files(tree):
                raise RebaseConflictError(tree, to, conflicts)
            if needs_render:
                _render(tree, to, files)
                for folder, sources in files.sources.items():
                    merged.setdefault(folder, set()).update(sources)
                    self.sources.update(sources)
            for path in changed & differing:
                if _is_job_file(tree, path):
                    folder = os.path.relpath(output_root((tree.root / path).parent), tree.root)
                    merged.setdefault("" if folder == "." else folder, set()).add(path)
            commit_picked(tree, commit)
        for folder, paths in merged.items():
            _check(tree, to, upstream, folder, paths)
        self.is_done, self.is_empty = True, resolved(tree.root) == upstream


def _files_of_jobs(tree: Repository, commit: str, changed: Iterable[str]) -> _JobFiles:
    """Return the files of the jobs that a commit changes. A commit changes a job if it changes the ledger of the job.

    `changed` has the paths of all files that the commit changes.
    """
    rendered: set[str] = set()
    sources: dict[str, set[str]] = {}
    for path in changed:
        folder, job = _job_of_ledger(path)
        if job is None:
            continue
        rendered.add(path)
        for revision in (f"{commit}^", commit, HEAD):
            if ledger := _committed_ledger(tree, job, path, revision):
                rendered |= {_joined(folder, name) for name in ledger.paths()}
                sources.setdefault(folder, set()).update(_source_paths(tree, folder, ledger))
    return _JobFiles(frozenset(rendered), {folder: frozenset(paths) for folder, paths in sources.items()})


def _is_job_file(tree: Repository, path: str) -> bool:
    file = tree.root / path
    return has_name_of_job(file) and file.is_file() and contains_job(file.read_bytes())


def _job_of_ledger(path: str) -> tuple[str, str | None]:
    """Split the path of a ledger into the output folder and the name of the job.

    The name of the job is None if the file is not a ledger.
    """
    whole = PurePosixPath(path)
    if whole.parent.name != LEDGER_FOLDER:
        return "", None
    folder = whole.parent.parent
    return "" if folder == PurePosixPath() else folder.as_posix(), job_of(whole.name)


def _committed_ledger(tree: Repository, job: str, path: str, revision: str) -> Ledger | None:
    """Read the ledger of a job from a commit; None if the commit does not exist or has no valid ledger."""
    with suppress(TfgenError):
        content = CommitTree(revision).read(tree.root / path)
        return None if content is None else parse_ledger(job, content.decode("utf-8", errors="replace"))
    return None


def _source_paths(tree: Repository, folder: str, ledger: Ledger) -> Iterator[str]:
    """Yield the path of the job file that a ledger lists, from the root of the repository.

    In the ledger, the path is relative to the output folder `folder` or to the root. If no file exists at either path,
    yield the path below `folder`. If the ledger lists no job file, yield nothing.
    """
    if not ledger.source:
        return
    candidates = [_joined(folder, ledger.source), ledger.source]
    yield next((path for path in candidates if (tree.root / path).exists()), candidates[0])


_DEFAULTS_SUFFIX: Final = f"/{FILE}"


def _needs_render(differing: Iterable[str], files: _JobFiles) -> bool:
    """Return True if tfgen must render the jobs of a local commit again on top of the remote branch.

    A render is necessary if the remote branch changes a file of these jobs, or a tfgen.yaml.

    Args:
        differing: the paths of the files that the remote branch changes.
        files: the files of the jobs that the commit changes; without files, the result is False.
    """
    of_jobs = files.rendered.union(*files.sources.values())
    return bool(of_jobs) and any(path in of_jobs or f"/{path}".endswith(_DEFAULTS_SUFFIX) for path in differing)


def _render(tree: Repository, to: Target, files: _JobFiles) -> None:
    """Render the job files of a commit into the temporary working tree, and stage the result."""
    for folder, sources in files.sources.items():
        out = tree.root / folder
        ledger_sources = {_joined(folder, source) for source in read_ledgers(out).sources.values()}
        paths = [tree.root / path for path in sorted(sources) if (tree.root / path).exists() or path in ledger_sources]
        if not paths:
            continue
        try:
            with _merge_errors(tree, to), render_paths(paths, out, upgrade=True, track=untracked):
                pass
        except ConflictsError as error:
            raise RefusedError(
                f"somebody edited rendered files in {to}; the commit stays in the local branch {tree.branch} "
                f"and is not pushed: {error}"
            ) from error
    stage_all(tree)


def _check(tree: Repository, to: Target, upstream: str, folder: str, sources: Iterable[str]) -> None:
    """Check the merged jobs in the job files `sources` of an output folder against the remote commit `upstream`.

    Raises:
        ProblemsError: the jobs have errors.
    """
    out = tree.root / folder
    paths = [tree.root / path for path in sorted(sources) if (tree.root / path).exists()]
    files = read_sources(paths, may_be_none=True)
    find_manifests = cache(lambda: read_foreign_manifests(out, read_ledgers(out)))
    with Spool(out) as spool, _merge_errors(tree, to):
        scope = CheckScope(find_manifests=find_manifests)
        check_for_commit(check_files(files, {}, spool, scope, untracked), spool, out, upstream)


@contextmanager
def _merge_errors(tree: Repository, to: Target) -> Iterator[None]:
    """Convert each ProblemsError of the `with` block: shorten the paths, and add a note that tfgen pushed nothing."""
    try:
        yield
    except ProblemsError as error:
        raise ProblemsError(
            (_without_root(tree, problem) for problem in error.problems),
            f"nothing was pushed: the jobs have errors when merged with {to}; the commit stays in {tree.branch}",
        ) from error


def _without_root(tree: Repository, problem: Problem) -> Problem:
    """Return a copy of a problem, in which the paths do not begin with the path of the temporary working tree."""
    root = f"{tree.root}/"
    return problem.replaced(file=problem.file.removeprefix(root), message=problem.message.replace(root, ""))


def _joined(folder: str, path: str) -> str:
    return f"{folder}/{path}" if folder else path
