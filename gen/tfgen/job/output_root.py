"""The default folder for `charts/` and `overlays/` of a job. It depends on the location of the job file.

/srv/jobs/.git
/srv/jobs/teams/ads/job.yaml    ->  /srv/jobs, from every working directory
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tfgen.errors import UsageError
from tfgen.job.defaults import FILE, says_root
from tfgen.real_path import real_path

_RENDERED: Final = ".tfgen"
_READ: Final = 1_000_000
"""Number of bytes of a tfgen.yaml that tfgen reads to find `root: true`. A larger file is not a valid tfgen.yaml."""


def is_root(folder: Path) -> bool:
    """Return whether a folder is the root of a git repository, or has a tfgen.yaml with `root: true`."""
    if (folder / ".git").exists():  # in a worktree or a submodule, .git is a file
        return True
    try:
        with (folder / FILE).open("rb") as file:
            return says_root(file.read(_READ))
    except OSError:
        return False


def root_above(folder: Path) -> Path | None:
    """Return the nearest root, from a folder upwards.

    Without a root, the result is the nearest folder with rendered files, or the topmost folder with a tfgen.yaml, or
    the working directory if it contains the folder. The root of the disk is never the result.
    """
    start, working_directory = real_path(folder), real_path(Path())
    folders = (start, *start.parents)
    if root := next((candidate for candidate in folders if is_root(candidate)), None):
        return root
    if root := next((candidate for candidate in folders if os.path.lexists(candidate / _RENDERED)), None):
        return root
    if defaults := [candidate for candidate in folders if os.path.lexists(candidate / FILE)]:
        return defaults[-1]
    is_below = working_directory in folders and working_directory != working_directory.parent
    return working_directory if is_below else None


def output_root(folder: Path) -> Path:
    """Return the folder for charts/ and overlays/ of the jobs in a folder.

    Raises:
        UsageError: the folder cannot be determined.
    """
    root = root_above(folder)
    if root is None:
        raise UsageError(
            f"{folder}: in no git repository, and not below the working directory, so that charts/ and overlays/ have "
            f"no place; name one by --out, or write root: true into a {FILE} there or above"
        )
    return root


def output_root_of(paths: Sequence[Path], files: Iterable[str]) -> Path:
    """Return the one folder for charts/ and overlays/ of some jobs.

    Args:
        paths: the files and folders of the command line.
        files: the job files in these paths. A path without job files counts itself.

    Raises:
        UsageError: the jobs have several output folders, or none.
    """
    jobs = [Path(file) for file in files]
    empty = [path for path in paths if not any(job.is_relative_to(path) for job in jobs)]
    folders = [*(job.parent for job in jobs), *(path if path.is_dir() else path.parent for path in empty)]
    roots: dict[Path, Path] = {}
    for folder in dict.fromkeys(folders):
        roots.setdefault(output_root(folder), folder)
    if len(roots) > 1:
        places = "; ".join(f"of {folder} in {os.path.relpath(root)}" for root, folder in roots.items())
        raise UsageError(f"charts/ and overlays/ are in several places: {places}; name the jobs of one, or say --out")
    return next(iter(roots))
