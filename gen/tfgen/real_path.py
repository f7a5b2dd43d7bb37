"""Whole paths of files, with the symbolic links above the root of the repository resolved."""

from __future__ import annotations

import os
from pathlib import Path


def real_path(path: Path) -> Path:
    """Resolve all symbolic links of a path. Unlike `Path.resolve`, raise no RuntimeError for a cycle of links.

    A link in a cycle stays unresolved, and an attempt to open the path raises an OSError. `Path.resolve` raises the
    RuntimeError in Python before 3.13.
    """
    return Path(os.path.realpath(path))


def repository_root(folder: Path) -> Path | None:
    """Return the root of the repository that contains a folder, by the written path; None outside of git.

    In a worktree or a submodule, `.git` is a file.
    """
    whole = Path(os.path.abspath(folder))  # noqa: PTH100 - `Path.absolute` keeps ".."
    return next((candidate for candidate in (whole, *whole.parents) if (candidate / ".git").exists()), None)


def whole_path(path: Path) -> Path:
    """Return the absolute path. Only the symbolic links above the root of the repository are resolved.

    A link below the root may point to a file that nobody reviews, so a tfgen.yaml beside its target must not apply to
    a job. For a path outside of git, all links are resolved.
    """
    written = Path(os.path.abspath(path))  # noqa: PTH100 - `Path.absolute` keeps ".."
    root = repository_root(written.parent)
    return real_path(written) if root is None else real_path(root) / written.relative_to(root)
