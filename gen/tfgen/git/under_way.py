"""Merges, rebases and similar operations that are not finished.

    find_under_way(Path(".git"))    ->  Operation("a merge", "git commit --no-edit", "git merge --abort")
    is_under_way(Path("jobs"))      ->  True

No function starts a program, so a call costs almost nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from tfgen.real_path import real_path


class Operation(NamedTuple):
    """An operation of git that is not finished, with the commands that finish and abort the operation."""

    name: str
    finish: str
    abort: str


_REBASE: Final = Operation("a rebase", "git rebase --continue", "git rebase --abort")
_FILES: Final = {
    "rebase-merge": _REBASE,
    "rebase-apply/applying": Operation("git am", "git am --continue", "git am --abort"),
    "rebase-apply": _REBASE,
    "MERGE_HEAD": Operation("a merge", "git commit --no-edit", "git merge --abort"),
    "CHERRY_PICK_HEAD": Operation("a cherry-pick", "git cherry-pick --continue", "git cherry-pick --abort"),
    "REVERT_HEAD": Operation("a revert", "git revert --continue", "git revert --abort"),
}
"""The operation for each name that git has in its folder until the operation is finished. The first match counts."""

_LINE: Final = "gitdir: "
"""The start of the file `.git` of a worktree or a submodule, before the path of its git folder."""


def find_under_way(state: Path) -> Operation | None:
    """Return the operation that is not finished, by the folder of git; None if every operation is finished."""
    return next((operation for name, operation in _FILES.items() if (state / name).exists()), None)


def is_under_way(folder: Path) -> bool:
    """Return whether an operation is not finished in the repository around a folder."""
    whole = real_path(folder)
    root = next((path for path in (whole, *whole.parents) if (path / ".git").exists()), None)
    if root is None:
        return False
    state = root / ".git"
    if state.is_file():
        state = root / state.read_text(encoding="utf-8", errors="replace").removeprefix(_LINE).strip()
    return find_under_way(state) is not None
