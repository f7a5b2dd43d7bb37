"""Where `charts/` and `overlays/` go when nobody says: the root of the repository around a folder."""

from __future__ import annotations

from pathlib import Path

_MARKS = (".git", ".tfgen")  # in a worktree or submodule, .git is a file


def output_root(folder: Path) -> Path:
    """The nearest folder, from this one upwards, that is a git repository or was rendered into; else this one."""
    here = folder.resolve()
    for candidate in (here, *here.parents):
        if any((candidate / mark).exists() for mark in _MARKS):
            return candidate
    return here
