"""Read files from git commits.

    committed(Path("jobs/mnist/job.yaml"))          # the content in the last commit
    committed(Path("jobs/mnist/job.yaml"), "v1.4")  # the content in a tag, a branch or a commit

`tfgen.git.objects` reads commits and their files. `changed`, `ignored` and `before_removals` run git commands, which
take some milliseconds each.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from tfgen.errors import TfgenError, UsageError
from tfgen.git.command import Git, is_installed
from tfgen.git.objects import Commit, ObjectReader, is_revision, object_reader
from tfgen.real_path import real_path

HEAD: Final = "HEAD"

LOG_OPTIONS: Final = ("--no-show-signature", "--root", "--no-renames")
"""Options of `git log`: the settings of the user must not change the output."""


def committed(path: Path, revision: str = HEAD) -> bytes | None:
    """Return the content of a file in a commit of the repository that contains the file.

    The result is None if the commit does not contain the file. For HEAD, the default, the result is also None if git or
    the repository is missing, or if the repository has no commit.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git fails.
    """
    return committed_files([path], revision).get(path)


def committed_files(paths: Iterable[Path], revision: str = HEAD) -> dict[Path, bytes]:
    """Return the content of the given files in a commit, by path.

    The result omits files that the commit does not contain. The function raises the errors of `committed`.
    """
    by_path: dict[Path, bytes] = {}
    for root, names in by_repository(paths).items():
        with object_reader(root) as reader:
            commit = _read_commit(reader, revision, next(iter(names)))
            entries = {
                path: entry for path, name in names.items() if commit and (entry := reader.entry(commit.tree, name))
            }
            files = {path: entry.object_id for path, entry in entries.items() if entry.is_file}
            contents = reader.blobs(files.values())
        by_path |= {path: contents[blob] for path, blob in files.items()}
    return by_path


def committed_below(folder: Path, revision: str = HEAD) -> dict[str, bytes]:
    """Return the content of all files below a folder in a commit. The keys are the paths relative to the folder.

    The folder may be missing on disk. If the path is a file in the commit, the only key is ".". The function raises the
    errors of `committed`.
    """
    root, name = _locate(folder)
    with object_reader(root) as reader:
        commit = _read_commit(reader, revision, folder)
        entry = reader.entry(commit.tree, name) if commit else None
        if entry is None:
            return {}
        entries = reader.files_below(entry.object_id) if entry.is_folder else [(".", entry)]
        files = {path: file.object_id for path, file in entries if file.is_file}
        contents = reader.blobs(files.values())
    return {path: contents[blob] for path, blob in files.items()}


def committed_names(folder: Path, revision: str = HEAD) -> set[str]:
    """Return the names of the files and subfolders that a commit contains directly in a folder.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git fails.
    """
    root, name = _locate(folder)
    with object_reader(root) as reader:
        commit = _read_commit(reader, revision, folder)
        entry = reader.entry(commit.tree, name) if commit else None
        return {*reader.folder(entry.object_id)} if entry and entry.is_folder else set()


def has_commit(folder: Path) -> bool:
    """Return whether a folder is in a git repository with at least one commit."""
    return is_installed() and _commit(folder, HEAD) is not None


def is_shallow(folder: Path) -> bool:
    """Return whether a folder is in a git repository whose history is cut off, such as a clone with `--depth 1`."""
    options = ("rev-parse", "--is-shallow-repository")
    return has_commit(folder) and Git(folder, options).output().strip() == b"true"


def ignored(folder: Path, places: Sequence[str]) -> set[str]:
    """Return the untracked files that git ignores, as paths relative to the folder `folder`.

    Args:
        folder: the folder. The result is empty for a folder outside of git.
        places: the files and subfolders to search.

    Raises:
        TfgenError: git fails.
    """
    if not has_commit(folder):
        return set()
    arguments = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", *places)
    return {os.fsdecode(name) for name in Git(folder, arguments).output().split(b"\0") if name}


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
        commit = _read_commit(reader, revision, path)
        ids = _blob_ids(root, commit.commit_id, names[path], most) if commit else ()
        return [*reader.blobs(ids).values()]


@lru_cache(maxsize=100)
def _blob_ids(root: Path, commit: str, name: str, most: int) -> tuple[str, ...]:
    """Return the ids of the blobs of a file in a commit and in the earlier commits, the newest first.

    In a repository with many commits, `git log` takes a second. The history of a commit never changes, so a cached
    result stays valid.
    """
    options = (*LOG_OPTIONS, "--format=", "--raw", "--no-abbrev", "-z", f"--max-count={most}")
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
    options = (*LOG_OPTIONS, "--format=%P", "--diff-filter=D", f"--max-count={most}")
    parents = (output_at(root, HEAD, ("log", *options), [name]) or b"").decode().splitlines()
    return [line.split()[0] for line in parents if line]


def repositories(paths: Iterable[Path]) -> list[Path]:
    """Return the roots of the repositories that contain the paths, each root once.

    For a path outside of git, the nearest existing folder replaces the root.
    """
    return [*by_repository(paths)]


def changed(
    folder: Path,
    revision: str = HEAD,
    *,
    is_removed: bool = False,
    places: Sequence[str] = (".",),
    with_untracked: Iterable[Path] = (),
) -> set[str]:
    """Return the files below a folder that differ between a commit and the disk, as paths relative to the folder.

    Args:
        folder: the folder. The result is empty if the folder, its repository or the commit is missing.
        revision: the commit.
        is_removed: whether to list only files that are missing on disk.
        places: the files and subfolders to compare.
        with_untracked: files to include in the result if git does not track them.

    Raises:
        TfgenError: git fails.
    """
    if not folder.is_dir():
        return set()
    only = ("--diff-filter=D",) if is_removed else ()
    printed = output_at(folder, revision, ("diff", "--name-only", *only, "--no-renames", "--relative", "-z"), places)
    if printed is None:
        return set()
    root = real_path(folder)
    new = [str(path.relative_to(root)) for path in map(real_path, with_untracked) if path.is_relative_to(root)]
    if new:
        printed += Git(folder, ("ls-files", "--others", "-z", "--")).output_of(new)
    return {os.fsdecode(name) for name in printed.split(b"\0") if name}


def resolved(folder: Path, revision: str = HEAD) -> str:
    """Return the commit id of a revision, such as a branch, a tag or HEAD.

    Raises:
        UsageError: the revision does not exist.
    """
    commit = _commit(folder, revision)
    if commit is None:
        raise UsageError(f"{folder}: git has no revision {revision!r} in this folder")
    return commit


def _commit(folder: Path, revision: str) -> str | None:
    """Return the commit id of a revision; None if the revision or the repository is missing.

    Raises:
        TfgenError: git fails.
    """
    with object_reader(_locate(folder)[0]) as reader:
        commit = reader.commit(revision)
    return commit.commit_id if commit else None


def remote_address(folder: Path, remote: str = "origin") -> str:
    """Return the address of a remote; empty if git, the repository of the folder or the remote is missing."""
    if not (is_installed() and folder.is_dir()):
        return ""
    done = Git(folder, ("remote", "get-url", remote)).done()
    return "" if done.code else done.stdout.decode("utf-8", errors="replace").strip()


def by_repository(paths: Iterable[Path]) -> dict[Path, dict[Path, str]]:
    """Group paths by repository. For each path, add the same path relative to the root of the repository.

    Example: {Path("/src"): {Path("jobs/mnist"): "jobs/mnist"}}. A path may be missing on disk. For a path outside of
    git, the nearest existing folder replaces the root.
    """
    names: dict[Path, dict[Path, str]] = {}
    roots: dict[Path, Path] = {}
    for path in paths:
        whole = real_path(path)
        parent = whole.parent
        if parent not in roots:
            around = next((candidate for candidate in (parent, *parent.parents) if _has_repository(candidate)), None)
            roots[parent] = around or next(candidate for candidate in (parent, *parent.parents) if candidate.is_dir())
        names.setdefault(roots[parent], {})[path] = str(whole.relative_to(roots[parent]))
    return names


def _locate(folder: Path) -> tuple[Path, str]:
    """Return the root of the repository that contains a folder, and the path of the folder relative to the root."""
    ((root, names),) = by_repository([folder / "file"]).items()
    (name,) = names.values()
    return root, os.path.dirname(name)  # noqa: PTH120 - the name of the root is ""


def _has_repository(folder: Path) -> bool:
    """Return whether a folder has a `.git` file, or a `.git` folder with a repository. git skips other `.git` folders.

    Source: `is_git_directory` in git's setup.c.
    """
    path = folder / ".git"
    return path.is_file() or (
        os.path.lexists(path / "HEAD") and (path / "objects").is_dir() and (path / "refs").is_dir()
    )


def output_at(folder: Path, revision: str, command: tuple[str, ...], names: Sequence[str]) -> bytes | None:
    """Return the output of a git command for a revision; None if the revision or the repository is missing.

    The git command itself resolves the revision, so one process is usually enough. Only after a failure, another
    process tests whether the revision exists.

    Args:
        folder: the folder in which git runs.
        revision: the revision, which tfgen appends to the command.
        command: the git command and its options, such as ("diff", "-z").
        names: the last arguments of git: paths relative to the folder.
    """
    if not (is_installed() and is_revision(revision)):
        return None
    try:
        return Git(folder, (*command, f"{revision}^{{commit}}", "--")).output_of(names)
    except TfgenError:
        if _commit(folder, revision) is not None:
            raise
        return None


def _read_commit(reader: ObjectReader, revision: str, path: Path) -> Commit | None:
    """Return the commit of a revision; None if the revision is HEAD and no commit exists.

    Raises:
        UsageError: the revision does not exist. The error names `path`.
        TfgenError: git fails.
    """
    commit = reader.commit(revision) if is_installed() else None
    if commit is None and revision != HEAD:
        reason = f"git has no revision {revision!r} in its repository" if is_installed() else "git is not on the PATH"
        raise UsageError(f"{path}: {reason}")
    return commit
