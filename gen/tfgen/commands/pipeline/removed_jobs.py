"""Find removed jobs: jobs that have rendered files and that are no longer in their job file.

A rendering is the set of rendered files of a job. If tfgen writes a rendering without files, tfgen removes all files of
the job (`tree.plan`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from tfgen.errors import UsageError
from tfgen.job.sources import source_name
from tfgen.places import CHARTS, OVERLAYS
from tfgen.tree.file_tree import FileTree
from tfgen.tree.rendering import Rendering


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
            raise UsageError(f"{path}: No such file or directory")
    return [
        removal(job)
        for job, source in sorted(sources.items())
        if job not in names and source and any(_covers(prefix, source) for prefix in path_by_source)
    ]


def _covers(prefix: str, source: str) -> bool:
    """Return whether `prefix` is the job file `source`, or a folder that contains the job file."""
    return prefix in (".", source) or source.startswith(f"{prefix}/")
