"""Where `charts/` and `overlays/` go when nobody says: beside the team's defaults, or to the repository's root."""

from __future__ import annotations

import os
from pathlib import Path

from tfgen.job.defaults import FILE
from tfgen.real_path import real_path

_MARKS = (FILE, ".git", ".tfgen")  # in a worktree or submodule, .git is a file


def output_root(folder: Path) -> Path:
    """The nearest folder, from this one upwards, with defaults or a git repository, or rendered into; else this one."""
    here = real_path(folder)
    for candidate in (here, *here.parents):
        if any(os.path.lexists(candidate / mark) for mark in _MARKS):
            return candidate
    return here
