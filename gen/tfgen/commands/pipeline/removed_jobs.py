"""Removed jobs: the rendered files of a job exist, but no job file has the job any more.

    find_removed_jobs({"cifar": "jobs/cifar.yaml"}, [Path("jobs")], {"mnist"})
        ->  [Rendering("cifar", FileTree({}), "")]

An empty rendering removes the files of a job; see `tree.plan`.
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
    """Return the rendering that removes all files of a job."""
    return Rendering(job, FileTree({}), "")


def remaining_files(out: Path, job: str) -> tuple[str, ...]:
    """List the files in the chart and the overlays of a removed job, by their names from the working directory."""
    folders = (out / CHARTS / job, out / OVERLAYS / job)
    files = (path for folder in folders for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file())
    return tuple(os.path.relpath(path) for path in files)


def find_removed_jobs(
    sources: Mapping[str, str], paths: Iterable[Path], names: Collection[str], committed: Collection[str] = ()
) -> list[Rendering]:
    """Return the removals of the jobs that were in files and folders, and that are not in these files any more.

    Args:
        sources: the job file of each rendered job.
        paths: the files and folders, which may be deleted.
        names: the names of the jobs in the files and folders.
        committed: the committed files that are deleted on disk.

    Raises:
        UsageError: a path does not exist, no job was rendered from it, and git has no job in it.
    """
    path_by_source = {source_name(path): path for path in paths}
    for prefix, path in path_by_source.items():
        had_job = any(_covers(prefix, source) for source in sources.values()) or any(
            Path(file).is_relative_to(path) for file in committed
        )
        if not (path.exists() or had_job):
            raise UsageError(f"{path}: No such file or directory")
    return [
        removal(job)
        for job, source in sorted(sources.items())
        if job not in names and source and any(_covers(prefix, source) for prefix in path_by_source)
    ]


def _covers(prefix: str, source: str) -> bool:
    """Test whether a path is a source, or a folder that contains the source."""
    return prefix in (".", source) or source.startswith(f"{prefix}/")
