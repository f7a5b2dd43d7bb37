"""The files of a repository in one version: on disk, in the index, or in a commit.

    DISK.read(Path("jobs/mnist/job.yaml"))                  # the content on disk
    CommitTree().read(Path("jobs/mnist/job.yaml"))          # the content in the last commit
    CommitTree("v1.4").files_below(Path("charts/mnist"))    # {"Chart.yaml": Kind.FILE, ...}

tfgen reads job files, tfgen.yaml files, ledgers and rendered files only through a `Tree`. The content of a file in the
index or in a commit is the blob, so no attribute of git changes the content.

A path may be relative to the working directory. A tree follows no symbolic link below the root of the repository,
because the repository does not contain the target. Only `DISK` reads the target of a link.
"""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

from tfgen.disk_file import read_file, repository_root, whole_path
from tfgen.errors import TfgenError, UsageError
from tfgen.git.command import Commit, Git, ObjectReader, TreeEntry, is_installed, is_revision, object_reader
from tfgen.words import printable

HEAD: Final = "HEAD"


class Kind(StrEnum):
    """The kind of an entry. Any other entry on disk, such as a FIFO, counts as a file."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "symbolic link"
    SUBMODULE = "git submodule"


class Tree(ABC):
    """The files of a repository in one version.

    Attributes:
        title: the name of the version for messages, such as "the files on disk".
    """

    title: str
    _side: tuple[str, ...] = ()
    """The arguments that make `git diff REVISION` compare the revision with this tree."""

    @abstractmethod
    def kind(self, path: Path) -> Kind | None:
        """Return the kind of the entry at a path; None for a missing entry. Raises the errors of `read_all`."""

    @abstractmethod
    def read_all(self, paths: Iterable[Path], most: int = -1) -> dict[Path, bytes]:
        """Return the content of files, by path. The result omits a path at which the tree has no file.

        Args:
            paths: the files.
            most: the maximum number of bytes of each file to return; -1 for all bytes.

        Raises:
            UsageError: the revision of the tree does not exist.
            TfgenError: git or the disk fails.
        """

    @abstractmethod
    def files_below(self, folder: Path, *, hidden: bool = True) -> dict[str, Kind]:
        """Return the entries below a folder that are not folders, by their path relative to the folder.

        Args:
            folder: the folder. The result is empty for a missing folder.
            hidden: whether to include names that begin with a dot. The folder `.git` is always omitted.

        Raises:
            UsageError: the revision of the tree does not exist, or a folder on disk cannot be read.
            TfgenError: git fails.
        """

    def read(self, path: Path, most: int = -1) -> bytes | None:
        """Return the content of one file; None for a missing file. Raises the errors of `read_all`."""
        return self.read_all([path], most).get(path)

    def names(self, folder: Path) -> list[str]:
        """Return the sorted names of the files directly in a folder. Raises the errors of `files_below`."""
        below = self.files_below(folder).items()
        return sorted(name for name, kind in below if kind is Kind.FILE and "/" not in name)

    def changed(self, folder: Path, since: str = HEAD, places: Sequence[str] = (".",)) -> set[str]:
        """Return the files below a folder that differ from a commit, as paths relative to the folder.

        The result omits untracked files.

        Args:
            folder: the folder. The result is empty if the folder, its repository or the commit is missing.
            since: the commit.
            places: the files and subfolders to compare.

        Raises:
            TfgenError: git fails.
        """
        if not folder.is_dir():
            return set()
        options = ("diff", "--name-only", "--no-renames", "--relative", "-z", *self._side)
        printed = output_at(folder, since, options, places) or b""
        return {os.fsdecode(name) for name in printed.split(b"\0") if name}


class DiskTree(Tree):
    """The files on disk."""

    title = "the files on disk"

    def kind(self, path: Path) -> Kind | None:
        """As `Tree.kind`."""
        try:
            mode = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise TfgenError(f"{path}: {error.strerror}") from error
        if stat.S_ISLNK(mode):
            return Kind.LINK
        if not stat.S_ISDIR(mode):
            return Kind.FILE
        is_nested = os.path.lexists(path / ".git") and repository_root(whole_path(path).parent)
        return Kind.SUBMODULE if is_nested else Kind.FOLDER

    def read_all(self, paths: Iterable[Path], most: int = -1) -> dict[Path, bytes]:
        """As `Tree.read_all`."""
        return {path: read_file(path, most) for path in paths if os.path.lexists(path)}

    def files_below(self, folder: Path, *, hidden: bool = True) -> dict[str, Kind]:
        """As `Tree.files_below`."""
        return dict(_below(str(folder), "", hidden=hidden)) if folder.is_dir() else {}


def _below(folder: str, prefix: str, *, hidden: bool) -> Iterator[tuple[str, Kind]]:
    """Yield the entries below a folder on disk in the order of their names.

    A folder that cannot be read is an error. If tfgen skipped the folder, its jobs would look like removed jobs.
    """
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(f"{printable(folder)}: {error.strerror}") from error
    for entry in entries:
        name = entry.name
        if name == ".git" or (name.startswith(".") and not hidden):
            continue
        if not entry.is_dir(follow_symlinks=False):
            yield prefix + name, Kind.LINK if entry.is_symlink() else Kind.FILE
        elif hidden and os.path.lexists(f"{entry.path}/.git"):
            yield prefix + name, Kind.SUBMODULE  # git stores another repository as a submodule
        else:
            yield from _below(entry.path, f"{prefix}{name}/", hidden=hidden)


DISK: Final = DiskTree()


class _ObjectTree(Tree):
    """The files of a tree object of git. Each repository has its own tree object."""

    def __init__(self) -> None:
        self._roots: dict[Path, str] = {}
        self._known: dict[tuple[Path, str], TreeEntry] = {}
        self._places: _Places = {}

    @abstractmethod
    def _root_tree(self, reader: ObjectReader, root: Path, path: Path) -> str:
        """Return the id of the tree object for the repository at `root`; empty for a tree without files.

        `path` is a path below the root, for error messages.
        """

    def kind(self, path: Path) -> Kind | None:
        """As `Tree.kind`."""
        if (path / ".git").exists():  # the root of the repository
            return Kind.FOLDER
        ((root, names),) = by_repository([path], self._places).items()
        with object_reader(root) as reader:
            entry = self._entry(reader, root, path, names[path])
        return _kind(entry) if entry else None

    def read_all(self, paths: Iterable[Path], most: int = -1) -> dict[Path, bytes]:
        """As `Tree.read_all`."""
        by_path: dict[Path, bytes] = {}
        for root, names in by_repository(paths, self._places).items():
            with object_reader(root) as reader:
                entries = {path: self._entry(reader, root, path, name) for path, name in names.items()}
                files = {path: entry.object_id for path, entry in entries.items() if entry and entry.is_file}
                contents = reader.blobs(files.values())
            by_path |= {path: contents[blob][: most if most >= 0 else None] for path, blob in files.items()}
        return by_path

    def files_below(self, folder: Path, *, hidden: bool = True) -> dict[str, Kind]:
        """As `Tree.files_below`."""
        ((root, names),) = by_repository([folder / "file"], self._places).items()
        name = os.path.dirname(names[folder / "file"])  # noqa: PTH120 - the name of the root is ""
        with object_reader(root) as reader:
            entry = self._entry(reader, root, folder, name)
            if entry is None or not entry.is_folder:
                return {}
            below = dict(reader.files_below(entry.object_id, hidden=hidden))
        prefix = f"{name}/" if name else ""
        self._known |= {(root, prefix + path): entry for path, entry in below.items()}
        return {path: _kind(entry) for path, entry in sorted(below.items())}

    def _entry(self, reader: ObjectReader, root: Path, path: Path, name: str) -> TreeEntry | None:
        if root not in self._roots:
            self._roots[root] = self._root_tree(reader, root, path)
        tree = self._roots[root]
        return (self._known.get((root, name)) or reader.entry(tree, name)) if tree else None


def _kind(entry: TreeEntry) -> Kind:
    if entry.is_folder:
        return Kind.FOLDER
    return Kind.FILE if entry.is_file else Kind.LINK if entry.is_link else Kind.SUBMODULE


class CommitTree(_ObjectTree):
    """The files of a commit.

    HEAD without a commit, and HEAD outside of git, is a tree without files. Any other missing revision is an error.
    """

    def __init__(self, revision: str = HEAD) -> None:
        super().__init__()
        self._revision = revision
        self.title = f"the commit {revision}"
        self._side = (revision,)

    def _root_tree(self, reader: ObjectReader, root: Path, path: Path) -> str:
        del root  # the reader reads this repository
        commit = read_commit(reader, self._revision, path)
        return commit.tree if commit else ""


class IndexTree(_ObjectTree):
    """The files of the index, which the next commit will contain."""

    title = "the index"
    _side = ("--cached",)

    def _root_tree(self, reader: ObjectReader, root: Path, path: Path) -> str:
        del reader, path  # a git command writes the tree
        return Git(root, ("write-tree",), uses_index_of_hook=True).output().decode().strip()


# -- revisions -------------------------------------------------------------------------------------------------------


def has_commit(folder: Path) -> bool:
    """Return whether a folder is in a git repository with at least one commit."""
    return is_installed() and _commit_id(folder, HEAD) is not None


def is_shallow(folder: Path) -> bool:
    """Return whether a folder is in a git repository whose history is cut off, such as a clone with `--depth 1`."""
    options = ("rev-parse", "--is-shallow-repository")
    return has_commit(folder) and Git(folder, options).output().strip() == b"true"


def is_clean(folder: Path) -> bool:
    """Return whether the files on disk and in the index equal the last commit. The result is False outside of git.

    Untracked files that git does not ignore count as a difference.
    """
    options = ("status", "--porcelain", "--untracked-files=normal")
    return has_commit(folder) and not Git(folder, options).output()


def resolved(folder: Path, revision: str = HEAD) -> str:
    """Return the commit id of a revision, such as a branch, a tag or HEAD.

    Raises:
        UsageError: the revision does not exist.
    """
    commit = _commit_id(folder, revision)
    if commit is None:
        raise UsageError(f"{folder}: git has no revision {revision!r} in this folder")
    return commit


def _commit_id(folder: Path, revision: str) -> str | None:
    ((root, _),) = by_repository([folder / "file"]).items()
    with object_reader(root) as reader:
        commit = reader.commit(revision)
    return commit.commit_id if commit else None


def read_commit(reader: ObjectReader, revision: str, path: Path) -> Commit | None:
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


def output_at(folder: Path, revision: str, command: tuple[str, ...], names: Sequence[str]) -> bytes | None:
    """Return the output of a git command for a revision; None if the revision or the repository is missing.

    The git command itself resolves the revision, so one process is usually enough. Only after a failure, another
    process tests whether the revision exists.

    Args:
        folder: the folder in which git runs.
        revision: the revision, which tfgen inserts after the name of the command.
        command: the git command and its options, such as ("diff", "-z").
        names: the last arguments of git: paths relative to the folder.
    """
    if not (is_installed() and is_revision(revision)):
        return None
    name, *options = command
    try:
        return Git(folder, (name, f"{revision}^{{commit}}", *options, "--")).output_of(names)
    except TfgenError:
        if _commit_id(folder, revision) is not None:
            raise
        return None


# -- repositories ----------------------------------------------------------------------------------------------------


_Places: TypeAlias = dict[Path, tuple[Path, str] | None]
"""The root of the repository around a folder, and the path of the folder from the root; None outside of git."""


def by_repository(paths: Iterable[Path], places: _Places | None = None) -> dict[Path, dict[Path, str]]:
    """Group paths by repository. For each path, add the same path relative to the root of the repository.

    Example: {Path("/src"): {Path("jobs/mnist"): "jobs/mnist"}}. A path may be missing on disk. For a path outside of
    git, the nearest existing folder replaces the root.

    Args:
        paths: the paths.
        places: the folders of earlier calls, to which the function adds the folders of the paths.
    """
    names: dict[Path, dict[Path, str]] = {}
    places = {} if places is None else places
    for path in paths:
        parent = path.parent
        if parent not in places:
            places[parent] = _place(whole_path(parent)) if repository_root(parent) else None
        place = places[parent]
        if place is None or path.name in ("", ".."):  # outside of git, a path may be a link to a file of a repository
            whole = whole_path(path)
            root, folder = _place(whole.parent)
            names.setdefault(root, {})[path] = os.path.join(folder, whole.name)  # noqa: PTH118 - `folder` may be ""
        else:
            root, folder = place
            names.setdefault(root, {})[path] = os.path.join(folder, path.name)  # noqa: PTH118 - `folder` may be ""
    return names


def _place(folder: Path) -> tuple[Path, str]:
    """Return the root of the repository around a folder, and the path of the folder from the root; "" for the root."""
    above = (folder, *folder.parents)
    root = next((candidate for candidate in above if _has_repository(candidate)), None)
    root = root or next(candidate for candidate in above if candidate.is_dir())
    return root, "" if folder == root else str(folder.relative_to(root))


def _has_repository(folder: Path) -> bool:
    """Return whether a folder has a `.git` file, or a `.git` folder with a repository. git skips other `.git` folders.

    Source: `is_git_directory` in git's setup.c.
    """
    path = folder / ".git"
    return path.is_file() or (
        os.path.lexists(path / "HEAD") and (path / "objects").is_dir() and (path / "refs").is_dir()
    )


def remote_address(folder: Path, remote: str = "origin") -> str:
    """Return the address of a remote; empty if git, the repository of the folder or the remote is missing."""
    if not (is_installed() and folder.is_dir()):
        return ""
    done = Git(folder, ("remote", "get-url", remote)).done()
    return "" if done.code else done.stdout.decode("utf-8", errors="replace").strip()


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
    return Git(folder, ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", *places)).names()
