"""The replay of local commits over remote commits: job files are merged, and rendered files are rendered again.

    push(repository, to, JobReplay())

Two people who change one job also change the ledger, Chart.yaml and other rendered files of the job. Git would report
a conflict in these files, though the edits of job.yaml merge cleanly. So the replay applies only the
changes of files that tfgen does not render, takes the rendered files from the remote branch, and renders the jobs that
the commit changes again. Only a conflict in a file that tfgen does not render stops the replay.

At the end the jobs are checked against the remote branch, because the merged job may need a new run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from tfgen.check.manifests import read_foreign_manifests
from tfgen.commands.git.commit_check import ProblemsError, check_for_commit
from tfgen.commands.pipeline.check_files import check_files
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.track import untracked
from tfgen.commands.render import render_paths
from tfgen.errors import TfgenError
from tfgen.git import read as git
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
from tfgen.job.defaults import FILE
from tfgen.job.output_root import output_root
from tfgen.job.sources import has_name_of_job, holds_job, read_sources
from tfgen.problems import Problem
from tfgen.tree.ledger import LEDGER_FOLDER, Ledger, job_of, parse_ledger
from tfgen.tree.plan import ConflictsError
from tfgen.tree.spool import Spool
from tfgen.tree.write import read_ledgers


class _JobFiles(NamedTuple):
    """Files of the jobs that a commit changes, by their paths from the root of the repository.

    Attributes:
        rendered: the rendered files before and after the commit, and in the remote branch, with the ledgers.
        sources: the job files by output folder.
    """

    rendered: frozenset[str]
    sources: Mapping[str, frozenset[str]]


class JobReplay:
    """Replays commits over a remote branch.

    Attributes:
        is_done: whether there was a replay.
        sources: the files of the jobs that were rendered again, from the root of the repository.
    """

    def __init__(self) -> None:
        self.is_done = False
        self.sources: set[str] = set()

    def __call__(self, tree: Repository, to: Target, tip: str) -> None:
        """Commit the commits below a tip again. HEAD of the temporary working tree is the remote branch.

        Raises:
            RebaseConflictError: a file that tfgen does not render has a conflict.
            ProblemsError: the merged jobs have errors, or need a new run.
            RefusedError: the remote branch has a rendered file that somebody edited.
            TfgenError: git or the disk fails.
        """
        upstream = tree.head
        merged: dict[str, set[str]] = {}
        for commit in commits_to_replay(tree, tip):
            pick(tree, commit)
            changed, differing = changed_by(tree, commit), differing_files(tree, commit)
            files = _files_of_jobs(tree, commit, changed)
            is_merged = _is_merged(differing, files)
            if is_merged:
                drop_changes(tree)
                pick(tree, without_changes(tree, commit, files.rendered))
            if conflicts := unmerged_files(tree):
                raise RebaseConflictError(tree, to, conflicts)
            if is_merged:
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
        self.is_done = True


def _files_of_jobs(tree: Repository, commit: str, changed: Iterable[str]) -> _JobFiles:
    """Find the files of the jobs whose ledgers a commit changes, among the files that the commit changes."""
    rendered: set[str] = set()
    sources: dict[str, set[str]] = {}
    for path in changed:
        folder, job = _job_of_ledger(path)
        if job is None:
            continue
        rendered.add(path)
        for revision in (f"{commit}^", commit, git.HEAD):
            if ledger := _committed_ledger(tree, job, path, revision):
                rendered |= {_joined(folder, name) for name in ledger.paths()}
                sources.setdefault(folder, set()).update(_source_paths(tree, folder, ledger))
    return _JobFiles(frozenset(rendered), {folder: frozenset(paths) for folder, paths in sources.items()})


def _is_job_file(tree: Repository, path: str) -> bool:
    file = tree.root / path
    return has_name_of_job(file) and file.is_file() and holds_job(file.read_bytes())


def _job_of_ledger(path: str) -> tuple[str, str | None]:
    """Return the output folder and the job of a ledger; None for the job of a file that is not a ledger."""
    whole = PurePosixPath(path)
    if whole.parent.name != LEDGER_FOLDER:
        return "", None
    folder = whole.parent.parent
    return "" if folder == PurePosixPath() else folder.as_posix(), job_of(whole.name)


def _committed_ledger(tree: Repository, job: str, path: str, revision: str) -> Ledger | None:
    """Read the ledger of a job from a commit; None if the commit or a valid ledger in the commit does not exist."""
    with suppress(TfgenError):
        content = git.committed(tree.root / path, revision)
        return None if content is None else parse_ledger(job, content.decode("utf-8", errors="replace"))
    return None


def _source_paths(tree: Repository, folder: str, ledger: Ledger) -> Iterator[str]:
    """Yield the path of a job file. A ledger names the file from the root of the job, which --out does not move."""
    if not ledger.source:
        return
    candidates = [_joined(folder, ledger.source), ledger.source]
    yield next((path for path in candidates if (tree.root / path).exists()), candidates[0])


_DEFAULTS_SUFFIX: Final = f"/{FILE}"


def _is_merged(differing: Iterable[str], files: _JobFiles) -> bool:
    """Return whether the remote branch changes a job of the commit as well, or defaults."""
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
            with render_paths(paths, out, upgrade=True, track=untracked) as written:
                problems, is_written = written.problems, written.plan is not None
        except ConflictsError as error:
            raise RefusedError(
                f"{_remote(to)} has files that somebody edited, and the commit stays in {tree.branch}, not pushed: "
                f"{error}"
            ) from error
        if not is_written:
            raise _merged_problems(tree, to, problems)
    stage_all(tree)


def _check(tree: Repository, to: Target, upstream: str, folder: str, sources: Iterable[str]) -> None:
    """Check the merged jobs against the remote branch.

    Raises:
        ProblemsError: the jobs have errors.
    """
    out = tree.root / folder
    paths = [tree.root / path for path in sorted(sources) if (tree.root / path).exists()]
    files = read_sources(paths, may_be_none=True)
    find_manifests = cache(lambda: read_foreign_manifests(out, read_ledgers(out)))
    with Spool(out) as spool:
        try:
            check_for_commit(check_files(files, {}, spool, CheckScope(find_manifests), untracked), spool, out, upstream)
        except ProblemsError as error:
            raise _merged_problems(tree, to, error.problems) from error


def _merged_problems(tree: Repository, to: Target, problems: Sequence[Problem]) -> ProblemsError:
    message = (
        f"nothing was pushed: the jobs have errors when merged with {_remote(to)}; the commit stays in {tree.branch}"
    )
    return ProblemsError(tuple(_without_root(tree, problem) for problem in problems), message)


def _without_root(tree: Repository, problem: Problem) -> Problem:
    """Name the files of a problem from the root of the repository, because the temporary working tree is removed."""
    root = f"{tree.root}/"
    return problem.replaced(file=problem.file.removeprefix(root), message=problem.message.replace(root, ""))


def _remote(to: Target) -> str:
    return f"{to.remote}/{to.branch}"


def _joined(folder: str, path: str) -> str:
    return f"{folder}/{path}" if folder else path
