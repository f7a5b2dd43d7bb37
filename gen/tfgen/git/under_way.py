"""Detect an unfinished git operation, such as a merge or a rebase, by the files in the .git folder.

The functions only read files and start no git process, so a call is fast.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from tfgen.real_path import real_path


class Operation(NamedTuple):
    """An unfinished git operation, such as "a merge", with the commands that finish and abort the operation."""

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
"""The unfinished operation that each file in the .git folder shows. The first file that exists counts."""

_LINE: Final = "gitdir: "
"""The first characters of the file `.git` in a worktree or a submodule. The path of the .git folder follows."""


def find_under_way(state: Path) -> Operation | None:
    """Return the unfinished git operation of a repository; None if no operation is unfinished.

    `state` is the .git folder of the repository.
    """
    return next((operation for name, operation in _FILES.items() if (state / name).exists()), None)


def is_under_way(folder: Path) -> bool:
    """Return whether the repository that contains a folder has an unfinished operation, such as a merge."""
    whole = real_path(folder)
    root = next((path for path in (whole, *whole.parents) if (path / ".git").exists()), None)
    if root is None:
        return False
    state = root / ".git"
    if state.is_file():
        state = root / state.read_text(encoding="utf-8", errors="replace").removeprefix(_LINE).strip()
    return find_under_way(state) is not None
