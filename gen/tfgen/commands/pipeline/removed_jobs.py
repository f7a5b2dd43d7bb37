"""Find removed jobs: jobs that have rendered files and that are no longer in their job file.

A rendering is the set of rendered files of a job. If tfgen writes a rendering without files, tfgen removes all files of
the job (`tree.plan`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tfgen.check.jobs import check_all
from tfgen.commands.pipeline.job_files import find_job_files, has_job
from tfgen.errors import UsageError
from tfgen.git.history import before_removals
from tfgen.git.tree import HEAD, CommitTree, has_commit
from tfgen.job.facts import name_of
from tfgen.job.sources import read_files, read_sources, removed_files, source_name
from tfgen.places import CHARTS, OVERLAYS
from tfgen.text.document import Document
from tfgen.tree.files import FileTree
from tfgen.tree.ledger import ledger_path, parse_ledger
from tfgen.tree.staging import Rendering
from tfgen.words import printable

_NAME: Final = re.compile(r"[a-z0-9-]+")
_COMMITS: Final = 50
"""Maximum number of commits with deletions that tfgen searches for the last jobs of a folder."""


def removal(job: str) -> Rendering:
    """Return a rendering without files for a job. A write of this rendering removes all files of the job."""
    return Rendering(job, FileTree({}), "")


def remaining_files(out: Path, job: str) -> tuple[str, ...]:
    """Return the files that remain in the chart and overlay folders of a removed job.

    The paths are relative to the working directory.
    """
    folders = (out / CHARTS / job, out / OVERLAYS / job)
    files = (path for folder in folders for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file())
    return tuple(os.path.relpath(path) for path in files)


def find_removed_job(job: str, out: Path) -> Document:
    """Return the last version of a job that was removed from the repository.

    The ledger of the job names the job file. The ledger and the job file are on disk, in HEAD, or in the commit before
    their deletion.

    Args:
        job: the name of the job.
        out: the output folder, which contains the ledgers.

    Raises:
        UsageError: a job file contains the job, or neither the disk nor git has a version of the job.
        TfgenError: git or the disk fails, or the ledger is not valid.
    """
    if files := find_job_files(job, out):
        raise UsageError(f"{job}: {', '.join(files)} has the job; pass the path of the file")
    for ledger in _versions(out / ledger_path(job)) if _NAME.fullmatch(job) else ():
        source = parse_ledger(job, ledger.decode("utf-8", "replace")).source
        if source and (document := next(versions_of_job(job, Path(os.path.relpath(out / source))), None)):
            return document
    raise UsageError(f"{job}: the file does not exist, and git has no removed job with this name")


def find_last_jobs(path: Path) -> tuple[Document, ...]:
    """Return the removed jobs at or below a path, from the last commit that has such jobs; empty without such a commit.

    Raises:
        TfgenError: git or the disk fails.
    """
    for revision in _revisions(path, most=_COMMITS):
        tree = CommitTree(revision)
        sources = read_files(removed_files([path], tree), tree) if revision else ()
        if documents := check_all(sources, is_guarded=False).documents:
            return documents
    return ()


def last_job_files(paths: Iterable[Path]) -> list[str]:
    """Return the files of the removed jobs that `find_last_jobs` finds at or below the paths.

    Raises:
        TfgenError: git or the disk fails.
    """
    return [document.file for path in paths for document in find_last_jobs(path)]


def versions_of_job(job: str, file: Path) -> Iterator[Document]:
    """Yield the valid versions of a job in a job file, the newest first.

    The versions are the file on disk, the file in HEAD, and the file in the commit before the deletion of the file.
    """
    for revision in _revisions(file):
        sources = read_files([str(file)], CommitTree(revision)) if revision else read_sources([file])
        for document in check_all(sources, is_guarded=False).documents:
            if name_of(document) == job:
                yield document


def _versions(file: Path) -> Iterator[bytes]:
    for revision in _revisions(file):
        content = CommitTree(revision).read(file) if revision else file.read_bytes()
        if content is not None:
            yield content


def _revisions(file: Path, most: int = 1) -> Iterator[str]:
    """Yield the revisions that may have a file or folder, the newest first. The empty text stands for a file on disk.

    `most` is the maximum number of commits before a deletion.
    """
    if file.is_file():
        yield ""
    place = file.absolute()
    folder = next(parent for parent in (place, *place.parents) if parent.is_dir())
    if has_commit(folder):
        yield from (HEAD, *before_removals(file, most))


def find_removed_jobs(
    sources: Mapping[str, str], paths: Iterable[Path], names: Collection[str], deleted_files: Collection[str] = ()
) -> list[Rendering]:
    """Return the removal of each rendered job that is no longer in the given files and folders.

    A removal is a rendering without files, as `removal` returns.

    Args:
        sources: the job file of each rendered job, by the name of the job.
        paths: the files and folders, which may be deleted.
        names: the names of the jobs in the files and folders.
        deleted_files: the paths of job files that a commit contains and that are deleted on disk.

    Raises:
        UsageError: a path does not exist, and never contained a job.
    """
    path_by_source = {source_name(path): path for path in paths}
    for prefix, path in path_by_source.items():
        had_job = any(_covers(prefix, source) for source in sources.values()) or any(
            Path(file).is_relative_to(path) for file in deleted_files
        )
        if not (path.exists() or had_job):
            raise UsageError(f"{printable(str(path))}: No such file or directory")
    removed = []
    for job, source in sorted(sources.items()):
        covering = (item for item in path_by_source.items() if source and _covers(item[0], source))
        if job not in names and (found := next(covering, None)):
            prefix, path = found
            # The search in a folder skips a hidden file. The jobs of a file that exists are not removed.
            if not has_job(path / os.path.relpath(source, prefix), job):
                removed.append(removal(job))
    return removed


def _covers(prefix: str, source: str) -> bool:
    """Return whether `prefix` is the job file `source`, or a folder that contains the job file."""
    return prefix in (".", source) or source.startswith(f"{prefix}/")
