"""Find the files with merge conflicts, and the files that a git merge changed. All paths are relative to a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tfgen.git.command import Git, is_installed

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
    for entry in _run(folder, "ls-files", "--unmerged", "-z", "--", *places).split(b"\0"):
        if entry:  # MODE ID STAGE, a tab, the path
            head, _, path = entry.partition(b"\t")
            _, blob, stage = head.split()
            stages.setdefault(os.fsdecode(path), {})[int(stage)] = blob.decode()
    return stages


def is_in_repository(folder: Path) -> bool:
    """Return whether git is installed and a folder is in a git repository."""
    return is_installed() and folder.is_dir() and not Git(folder, ("rev-parse", "--git-dir")).done().code


def read_version(folder: Path, blob: str) -> str:
    """Return the text of one version of an unmerged file. `blob` is the git id of the version.

    Raises:
        TfgenError: git fails.
    """
    return _run(folder, "cat-file", "blob", blob).decode("utf-8", errors="replace")


def files_of_merge(folder: Path, places: Sequence[str], *, is_committed: bool) -> frozenset[str]:
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
        return frozenset()
    changed = _names(_run(folder, *options, base.stdout.decode().strip(), "--", *places))
    edited = _names(_run(folder, *options, "--", *places)) - unmerged_files(folder, places).keys()
    return changed - edited


def stage_files(folder: Path, paths: Iterable[str]) -> None:
    """Stage files as they are on disk, so that git treats the conflicts in the files as resolved. Skip ignored files.

    Raises:
        TfgenError: git fails.
    """
    names = sorted(set(paths))
    tracked = Git(folder, ("ls-files", "-z", "--")).output_of(names)
    new = Git(folder, ("ls-files", "-z", "--others", "--exclude-standard", "--")).output_of(names)
    stdin = b"".join(os.fsencode(name) + b"\0" for name in sorted(_names(tracked) | _names(new)))
    Git(folder, ("update-index", "--add", "--remove", "-z", "--stdin"), stdin).output()


def _run(folder: Path, *arguments: str) -> bytes:
    return Git(folder, arguments).output()


def _names(printed: bytes) -> frozenset[str]:
    return frozenset(os.fsdecode(name) for name in printed.split(b"\0") if name)
