"""Merges, rebases and the like that are not finished.

    find_under_way(Path(".git"))    ->  "a merge"
    is_under_way(Path("jobs"))      ->  True

No function starts a program, so a render can ask at no cost.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tfgen.real_path import real_path

_FILES: Final = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase, or git am,",
}
"""The operation for each name that git has in its folder until the operation is finished."""

_LINE: Final = "gitdir: "
"""The start of the file `.git` of a worktree or a submodule, before the path of its git folder."""


def find_under_way(state: Path) -> str:
    """Return the operation that is not finished, by the folder of git; empty if every operation is finished."""
    return next((operation for name, operation in _FILES.items() if (state / name).exists()), "")


def is_under_way(folder: Path) -> bool:
    """Return whether an operation is not finished in the repository around a folder."""
    whole = real_path(folder)
    root = next((path for path in (whole, *whole.parents) if (path / ".git").exists()), None)
    if root is None:
        return False
    state = root / ".git"
    if state.is_file():
        state = root / state.read_text(encoding="utf-8", errors="replace").removeprefix(_LINE).strip()
    return bool(find_under_way(state))
