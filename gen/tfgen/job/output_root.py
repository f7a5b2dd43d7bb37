"""Find the default folder for `charts/` and `overlays/`, usually the root of the git repository of the job file.

The default does not depend on the working directory if the job file is in a git repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tfgen.errors import TfgenError, UsageError
from tfgen.git.tree import DISK, Tree
from tfgen.job.defaults import FILE, sets_root
from tfgen.real_path import real_path, whole_path

_RENDERED: Final = ".tfgen"
_READ: Final = 1_000_000
"""Number of bytes of a tfgen.yaml that tfgen reads to find `root: true`. A larger file is not a valid tfgen.yaml."""


def is_root(folder: Path, tree: Tree = DISK) -> bool:
    """Return whether a folder is the root of a git repository, or has a tfgen.yaml with `root: true` in a tree."""
    if (folder / ".git").exists():  # in a worktree or a submodule, .git is a file
        return True
    try:
        return sets_root(tree.read(folder / FILE, _READ) or b"")
    except TfgenError:
        return False


def root_above(folder: Path, tree: Tree = DISK) -> Path | None:
    """Return the root folder for the jobs in `folder`; None if tfgen cannot determine the root folder.

    tfgen searches `folder` and its parent folders. The result is the first folder in this list that exists:

    - the nearest folder that is a root by itself, as `is_root` defines
    - the nearest folder with rendered files
    - the topmost folder with a tfgen.yaml
    - the working directory, if the working directory contains or equals `folder`, and is not `/`
    """
    start, working_directory = whole_path(folder), real_path(Path())
    folders = (start, *start.parents)
    if root := next((candidate for candidate in folders if is_root(candidate, tree)), None):
        return root
    if root := next((candidate for candidate in folders if os.path.lexists(candidate / _RENDERED)), None):
        return root
    if defaults := [candidate for candidate in folders if os.path.lexists(candidate / FILE)]:
        return defaults[-1]
    is_below = working_directory in folders and working_directory != working_directory.parent
    return working_directory if is_below else None


def output_root(folder: Path, tree: Tree = DISK) -> Path:
    """Return the folder for charts/ and overlays/ of the jobs in a folder.

    Raises:
        UsageError: the folder cannot be determined.
    """
    root = root_above(folder, tree)
    if root is None:
        raise UsageError(
            f"{folder}: the folder is in no git repository and not below the working directory, so tfgen cannot choose "
            f"a folder for charts/ and overlays/; set --out, or add a {FILE} with root: true to the folder"
        )
    return root


def output_root_of(paths: Sequence[Path], files: Iterable[str], tree: Tree = DISK) -> Path:
    """Return the folder for charts/ and overlays/ of several jobs. All jobs must have the same output folder.

    Args:
        paths: the files and folders of the command line. A path without jobs must have the same output folder as well.
        files: the job files in these paths.
        tree: the version of the tfgen.yaml files.

    Raises:
        UsageError: two jobs or paths have different output folders, or a job or a path has no output folder.
    """
    jobs = [Path(file) for file in files]
    empty = [path for path in paths if not any(job.is_relative_to(path) for job in jobs)]
    folders = [*(job.parent for job in jobs), *(path if path.is_dir() else path.parent for path in empty)]
    roots: dict[Path, Path] = {}
    for folder in dict.fromkeys(folders):
        roots.setdefault(output_root(folder, tree), folder)
    if len(roots) > 1:
        places = " and ".join(f"{os.path.relpath(root)} for jobs in {folder}" for root, folder in roots.items())
        raise UsageError(
            f"the jobs have different folders for charts/ and overlays/: {places}; pass only jobs with the same "
            "folder, or set --out"
        )
    return next(iter(roots))
