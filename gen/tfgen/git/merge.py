"""Merges in git: the unfinished operation of a repository, the files with conflicts, and the driver for rendered files.

`find_under_way` and `is_under_way` only read files and start no git process, so a call is fast.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tfgen.disk_file import real_path
from tfgen.git.command import Git, is_installed


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


# -- files of a merge ------------------------------------------------------------------------------------------------

OURS: Final = 2
THEIRS: Final = 3
"""The stage numbers of the versions `ours` and `theirs` of an unmerged file in the index:
https://git-scm.com/docs/git-ls-files."""


def unmerged_files(folder: Path, places: Sequence[str]) -> dict[str, dict[int, str]]:
    """Return the versions of each file with a merge conflict, by path. The result is empty outside of git.

    Example: {"job.yaml": {1: "5f70...", 2: "9b74...", 3: "0c2a..."}}. In git, 1 is the common version, 2 is the version
    of the current branch, and 3 is the version of the merged branch. Each version has the id of a git blob.

    Raises:
        TfgenError: git fails.
    """
    if not is_in_repository(folder):
        return {}
    stages: dict[str, dict[int, str]] = {}
    for entry in Git(folder, ("ls-files", "--unmerged", "-z", "--", *places)).names():
        head, _, path = entry.partition("\t")  # MODE ID STAGE, a tab, the path
        _, blob, stage = head.split()
        stages.setdefault(path, {})[int(stage)] = blob
    return stages


def is_in_repository(folder: Path) -> bool:
    """Return whether git is installed and a folder is in a git repository."""
    return is_installed() and folder.is_dir() and not Git(folder, ("rev-parse", "--git-dir")).done().code


def read_version(folder: Path, blob: str) -> str:
    """Return the text of one version of an unmerged file. `blob` is the git id of the version.

    Raises:
        TfgenError: git fails.
    """
    return Git(folder, ("cat-file", "blob", blob)).output().decode("utf-8", errors="replace")


def files_of_merge(folder: Path, places: Sequence[str], *, is_committed: bool) -> set[str]:
    """Return the files that a git merge changed and that nobody has edited since the merge.

    Args:
        folder: the folder.
        places: the files and subfolders to compare.
        is_committed: whether the merge is committed, so that HEAD is the merge commit.

    Raises:
        TfgenError: git fails.
    """
    options = ("diff", "--name-only", "--no-renames", "--relative", "-z")
    base = Git(folder, ("rev-parse", "--verify", "--quiet", "HEAD^" if is_committed else "HEAD")).done()
    if base.code:
        return set()
    changed = Git(folder, (*options, base.stdout.decode().strip(), "--", *places)).names()
    edited = Git(folder, (*options, "--", *places)).names() - unmerged_files(folder, places).keys()
    return changed - edited


def stage_files(folder: Path, paths: Iterable[str]) -> None:
    """Stage files as they are on disk, so that git treats the conflicts in the files as resolved. Skip ignored files.

    Raises:
        TfgenError: git fails.
    """
    names = sorted(set(paths))
    tracked = Git(folder, ("ls-files", "-z", "--")).names(names)
    new = Git(folder, ("ls-files", "-z", "--others", "--exclude-standard", "--")).names(names)
    stdin = b"".join(os.fsencode(name) + b"\0" for name in sorted(tracked | new))
    Git(folder, ("update-index", "--add", "--remove", "-z", "--stdin"), stdin).output()


# -- the merge driver ------------------------------------------------------------------------------------------------

_KEY: Final = "merge.tfgen.driver"
_COMMAND: Final = "tfgen merge-driver %O %A %B %P"
"""The command of the merge driver. git replaces %O, %A, %B and %P by file names."""


def configure_merge_driver(folder: Path) -> bool:
    """Configure the merge driver in the clone that contains a folder. Return False if nothing was configured.

    A clone that already has the merge driver, or a folder outside of a clone, needs no configuration.

    Raises:
        TfgenError: git fails.
    """
    if not is_in_repository(folder) or not Git(folder, ("config", "--get", _KEY)).done().code:
        return False
    Git(folder, ("config", "--local", _KEY, _COMMAND)).output()
    return True
