"""Read the commits that changed files. Two git processes are enough for any number of files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tfgen.git.objects import object_reader
from tfgen.git.read import HEAD, LOG_OPTIONS, by_repository, output_at
from tfgen.record import Record

_MOST: Final = 10_000
"""Maximum number of commits in which tfgen searches. The search begins with the newest commit."""


class Revision(Record):
    """A commit that changed a file.

    Attributes:
        commit: the id of the commit.
        date: the date of the commit in the time zone of its committer, such as 2026-11-25.
        content: the content of the file after the commit; None for a commit that removes the file, or replaces the
            file with a symbolic link or a submodule.
    """

    commit: str
    date: str
    content: bytes | None


def histories(paths: Iterable[Path], most: int) -> dict[Path, tuple[Revision, ...]]:
    """Return the last commits that changed each file, by path. The newest commit is first.

    The result includes only commits up to HEAD. A file outside of git has an empty tuple. A shallow clone has only some
    of the commits.

    Args:
        paths: the files, which may be missing on disk.
        most: the maximum number of commits for each file.

    Raises:
        TfgenError: git fails.
    """
    revisions_of: dict[Path, tuple[Revision, ...]] = {}
    for root, names in by_repository(paths).items():
        revisions = _revisions(root, {*names.values()}, most)
        revisions_of |= {path: revisions.get(name, ()) for path, name in names.items()}
    return revisions_of


def _revisions(root: Path, names: set[str], most: int) -> dict[str, tuple[Revision, ...]]:
    options = (*LOG_OPTIONS, "--format=%x00%H %cs", "--raw", "--no-abbrev", "-z")
    printed = output_at(root, HEAD, ("log", *options, f"--max-count={_MOST}"), sorted(names)) or b""
    entries: dict[str, list[tuple[str, str, str]]] = {}
    commit = date = ""
    words = iter(printed.split(b"\0"))
    for part in words:
        word = part.lstrip(b"\n")
        if word.startswith(b":"):  # ":MODE MODE ID ID STATUS", and the name after a NUL
            name = os.fsdecode(next(words))
            of_file = entries.setdefault(name, [])
            if name in names and len(of_file) < most:
                _, mode, _, blob, _ = word.split()
                of_file.append((commit, date, blob.decode() if mode.startswith(b"100") else ""))
        elif word:
            commit, date = word.decode().split()
    with object_reader(root) as reader:
        contents = reader.blobs(blob for of_file in entries.values() for _, _, blob in of_file if blob)
    return {
        name: tuple(Revision(commit, date, contents.get(blob)) for commit, date, blob in of_file)
        for name, of_file in entries.items()
    }
