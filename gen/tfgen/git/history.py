"""Read the commits that changed files. Two git processes are enough for any number of files.

`all_contents` needs one more process for each name that a file had.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Final

from tfgen.git.command import Git, object_reader
from tfgen.git.tree import HEAD, by_repository, output_at, read_commit
from tfgen.record import Record

_LOG_OPTIONS: Final = ("--no-show-signature", "--root", "--no-renames")
"""Options of `git log`: the settings of the user must not change the output."""

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


def histories(paths: Iterable[Path], most: int = _MOST, since: str = "") -> dict[Path, tuple[Revision, ...]]:
    """Return the last commits that changed each file, by path. The newest commit is first.

    The result includes only commits up to HEAD. A file outside of git has an empty tuple. A shallow clone has only some
    of the commits.

    Args:
        paths: the files, which may be missing on disk.
        most: the maximum number of commits for each file.
        since: a commit, for only the commits after it on the line of the first parents; empty for all commits.

    Raises:
        TfgenError: git fails.
    """
    revisions_of: dict[Path, tuple[Revision, ...]] = {}
    for root, names in by_repository(paths).items():
        revisions = _revisions(root, {*names.values()}, most, since)
        revisions_of |= {path: revisions.get(name, ()) for path, name in names.items()}
    return revisions_of


def all_contents(path: Path) -> list[bytes]:
    """Return the contents of a file in all commits up to HEAD, also from the time before git renamed the file.

    The result is empty for a file outside of git.

    Raises:
        TfgenError: git fails.
    """
    ((root, names),) = by_repository([path]).items()
    contents: list[bytes] = []
    found = [*names.values()]
    for name in found:  # the loop adds the former names of each file
        revisions = _revisions(root, {name}, _MOST).get(name, ())
        contents += (revision.content for revision in revisions if revision.content is not None)
        for revision, older in zip_longest(revisions, revisions[1:]):
            if older is None or older.content is None:
                former = _former_name(root, name, revision.commit)
                found += [former] if former and former not in found else []
    return contents


def earlier_contents(path: Path, revision: str = HEAD, most: int = 200) -> list[bytes]:
    """Return the different contents of a file in the commits up to a revision, the newest content first.

    A shallow clone has only some of the commits.

    Args:
        path: the file, which may be missing on disk.
        revision: the newest commit to read.
        most: the maximum number of commits to read. tfgen reads the newest commits that changed the file.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git fails.
    """
    ((root, names),) = by_repository([path]).items()
    with object_reader(root) as reader:
        commit = read_commit(reader, revision, path)
        ids = _blob_ids(root, commit.commit_id, names[path], most) if commit else ()
        return [*reader.blobs(ids).values()]


@lru_cache(maxsize=100)
def _blob_ids(root: Path, commit: str, name: str, most: int) -> tuple[str, ...]:
    """Return the ids of the blobs of a file in a commit and in the earlier commits, the newest first.

    In a repository with many commits, `git log` takes a second. The history of a commit never changes, so a cached
    result stays valid.
    """
    options = (*_LOG_OPTIONS, "--format=", "--raw", "--no-abbrev", "-z", f"--max-count={most}")
    words = iter(Git(root, ("log", *options, commit, "--", name)).output().split(b"\0"))
    # Each change is ":MODE MODE ID ID STATUS", a NUL byte, the path, and a NUL byte.
    changes = ((word.split(), os.fsdecode(next(words))) for word in words if word.strip())
    return tuple(ids[3].decode() for ids, path in changes if path == name and ids[1].startswith(b"100"))


def before_removals(path: Path, most: int = 50) -> list[str]:
    """List the commits directly before each deletion of a file, the newest first.

    If `path` is a folder, the deletion of any file in the folder counts. A shallow clone has only some of the commits.

    Args:
        path: the file or the folder, which may be missing on disk.
        most: the maximum number of commits to return.

    Raises:
        TfgenError: git fails.
    """
    if path.is_dir():
        root, name = path, "."
    else:
        ((root, names),) = by_repository([path]).items()
        name = names[path]
    options = (*_LOG_OPTIONS, "--format=%P", "--diff-filter=D", f"--max-count={most}")
    parents = (output_at(root, HEAD, ("log", *options), [name]) or b"").decode().splitlines()
    return [line.split()[0] for line in parents if line]


def _former_name(root: Path, name: str, commit: str) -> str:
    """Return the former name of a file that a commit renames; empty if the commit does not rename the file."""
    options = ("diff-tree", "-r", "-z", "--no-commit-id", "--name-status", "--find-renames", "--diff-filter=R")
    words = os.fsdecode(Git(root, (*options, commit)).output()).split("\0")  # "R100", the old name, the new name
    return next((words[at - 1] for at in range(2, len(words), 3) if words[at] == name), "")


def _revisions(root: Path, names: set[str], most: int, since: str = "") -> dict[str, tuple[Revision, ...]]:
    options: tuple[str, ...] = (*_LOG_OPTIONS, "--format=%x00%H %cs", "--raw", "--no-abbrev", "-z")
    options += ("--first-parent", "-m", f"^{since}") if since else ()
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
