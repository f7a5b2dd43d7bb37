"""Where `charts/` and `overlays/` of a job go when nobody says: the place follows the job's file.

/srv/jobs/.git
/srv/jobs/teams/ads/job.yaml    ->  /srv/jobs, from wherever a command is given
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
"""Bytes of a tfgen.yaml that are read to know whether it says `root: true`: more is no tfgen.yaml."""


def is_root(folder: Path) -> bool:
    """Whether a folder is the root of what is below it: of a git repository, or by its own tfgen.yaml."""
    if (folder / ".git").exists():  # in a worktree or a submodule it is a file
        return True
    try:
        with (folder / FILE).open("rb") as file:
            return says_root(file.read(_READ))
    except OSError:
        return False


def root_above(folder: Path) -> Path | None:
    """The nearest root, from a folder upwards.

    Outside of all: where something was rendered, else the topmost folder with a tfgen.yaml, else the working directory
    if it has the folder in it. It is never the root of the disk, which is above whatever the folder is.
    """
    here, working_directory = real_path(folder), real_path(Path())
    above = (here, *here.parents)
    if root := next((candidate for candidate in above if is_root(candidate)), None):
        return root
    if root := next((candidate for candidate in above if os.path.lexists(candidate / _RENDERED)), None):
        return root
    if defaults := [candidate for candidate in above if os.path.lexists(candidate / FILE)]:
        return defaults[-1]
    is_below = working_directory in above and working_directory != working_directory.parent
    return working_directory if is_below else None


def output_root(folder: Path) -> Path:
    """The folder that charts/ and overlays/ of the jobs in a folder are in.

    Raises:
        UsageError: nothing says which.
    """
    root = root_above(folder)
    if root is None:
        raise UsageError(
            f"{folder}: in no git repository, and not below the working directory, so that charts/ and overlays/ have "
            f"no place; name one by --out, or write root: true into a {FILE} there or above"
        )
    return root


def output_root_of(paths: Sequence[Path], files: Iterable[str]) -> Path:
    """The one folder that charts/ and overlays/ of some jobs are in.

    Args:
        paths: the files and folders that were named.
        files: the jobs' files in them; a path that has none counts by itself.

    Raises:
        UsageError: they have several, or none.
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
