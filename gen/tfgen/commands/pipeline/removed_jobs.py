"""Removed jobs: their rendered files are still there, but no job file has them any more.

    find_removed_jobs({"cifar": "jobs/cifar.yaml"}, [Path("jobs")], {"mnist"})
        ->  [Rendering("cifar", FileTree({}), "")]

An empty rendering takes a job's files away; see `tree.plan`.
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
    """What takes all files of a job away."""
    return Rendering(job, FileTree({}), "")


def remaining_files(out: Path, job: str) -> tuple[str, ...]:
    """List the files in the chart and the overlays of a removed job, by their names from the working directory."""
    folders = (out / CHARTS / job, out / OVERLAYS / job)
    files = (path for folder in folders for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file())
    return tuple(os.path.relpath(path) for path in files)


def find_removed_jobs(
    sources: Mapping[str, str], paths: Iterable[Path], there: Collection[str], committed: Collection[str] = ()
) -> list[Rendering]:
    """The removals of the jobs that some files and folders had, and have no more.

    Args:
        sources: job -> its file, of all jobs that were rendered.
        paths: the files and folders, which may be gone too.
        there: the names of the jobs in them.
        committed: files that git has, and that are there no more.

    Raises:
        UsageError: a path is not there, no job came of it, and git has none of it.
    """
    names = {source_name(path): path for path in paths}
    for name, path in names.items():
        was_there = any(_covers(name, source) for source in sources.values()) or any(
            Path(file).is_relative_to(path) for file in committed
        )
        if not (path.exists() or was_there):
            raise UsageError(f"{path}: No such file or directory")
    return [
        removal(job)
        for job, source in sorted(sources.items())
        if job not in there and source and any(_covers(name, source) for name in names)
    ]


def _covers(name: str, source: str) -> bool:
    return name in (".", source) or source.startswith(f"{name}/")
