"""The output folder on disk. Only this module reads and writes files below the folder.

    with OutputFolder(Path(".")) as folder:
        folder.states(["charts/dist-mnist/Chart.yaml"])

tfgen never writes a file outside the output folder. To guarantee this, tfgen opens each folder of a path by file
descriptor, with O_NOFOLLOW. A symbolic link in a path is therefore an error, even if somebody creates the link while
tfgen runs. Every OSError becomes a TfgenError that names the path.

tfgen writes all new files to a staging folder before it renames the first file. So if the disk is full, every old file
is still in place.

The folder of a new job is renamed as a whole, because one rename is faster than a rename of each file. Even if tfgen is
killed, the job's folder is either complete or missing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from posixpath import join, split
from typing import Self, TypeAlias, TypeVar

from tfgen.disk_file import (
    RESERVED_PREFIX,
    BlockedPathError,
    check_digest,
    describe_mode,
    digests_of,
    digests_on_disk,
    errors_at,
    is_temporary,
    open_file,
    open_folder,
    write_temporary,
)
from tfgen.errors import TfgenError, UsageError
from tfgen.git.tree import DISK, Tree
from tfgen.places import job_folder
from tfgen.record import Record
from tfgen.tree.files import ancestors

_Value = TypeVar("_Value")

_FILE_MODE = 0o644
_FOLDER_MODE = 0o755

LOCK_WAIT_S = 30.0
"""Maximum time in seconds to wait for another tfgen process in the same folder."""

SYNC_EACH_UP_TO = 100
"""Maximum number of files in a batch for which tfgen calls fsync for each file. For a larger batch, tfgen calls sync
once.

Measured on ext4: 100 files need 37 ms with fsync and 6 ms with sync; 1,000 files need 390 ms and 53 ms. But sync also
waits for the writes of other programs, so a small batch uses fsync.
"""


class DiskEntry(Record):
    """The state of a path on disk.

    Attributes:
        digest: the SHA-256 of the file; None if the file does not exist.
        obstacle: an error message, such as "x is a folder, where tfgen needs a file", if the path is not a file;
            None for a file or a missing path.
        unix_digest: the SHA-256 of the file's content with LF in place of each CRLF, because git may check out files
            with CRLF; None for a file without CRLF.
    """

    digest: str | None = None
    obstacle: str | None = None
    unix_digest: str | None = None


_NOTHING = DiskEntry()


class OutputFolder:
    """An output folder, which may not exist yet. The context manager keeps the folder open.

    Args:
        path: The folder. The path of the folder may contain symbolic links; paths below the folder may not.
        create: Whether to create a missing folder and its parents.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        self._create = create
        self._root: int | None = None

    def __enter__(self) -> Self:
        with errors_at(self.path):
            if self._create:
                self.path.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                self._root = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        return self

    def __exit__(self, *_: object) -> None:
        if self._root is not None:
            os.close(self._root)
            self._root = None

    # Reading.

    def states(self, paths: Iterable[str]) -> dict[str, DiskEntry]:
        """Return the state on disk of each of the given paths, by path. The paths are relative to the output folder."""
        on_disk: dict[str, DiskEntry] = {}
        with self._folders() as way:
            for parent, entries in _by_folder(paths):
                try:
                    folder = way.open(parent)
                    for name, path in entries:
                        on_disk[path] = _entry(folder, name, path)
                except FileNotFoundError:
                    on_disk.update({path: _NOTHING for _, path in entries})
                except BlockedPathError as error:
                    on_disk.update({path: DiskEntry(obstacle=str(error)) for _, path in entries})
        return on_disk

    def names(self, folder: str) -> list[str]:
        """Return the sorted names of the files and subfolders of a folder; empty for a missing folder."""
        try:
            with self._folder(folder) as descriptor, errors_at(folder), os.scandir(descriptor) as entries:
                return sorted(entry.name for entry in entries)
        except FileNotFoundError:
            return []

    def abandoned(self) -> list[str]:
        """Return the sorted paths of the temporary files and staging folders that killed processes left.

        All are in the folder of the ledgers. A running process has a lock on its staging folder.
        """
        try:
            with self._folder(RESERVED_PREFIX) as folder, errors_at(RESERVED_PREFIX), os.scandir(folder) as entries:
                names = [e.name for e in entries if is_temporary(e.name) and not e.is_symlink()]
                return sorted(f"{RESERVED_PREFIX}/{name}" for name in names if not _is_locked(folder, name))
        except (FileNotFoundError, BlockedPathError):
            return []

    def read_text(self, path: str, limit: int = -1) -> str:
        """Return the text of a file, or the first `limit` characters. U+FFFD replaces bytes that are not UTF-8.

        Raises:
            TfgenError: The file does not exist.
        """
        parent, name = split(path)
        with errors_at(path), self._folder(parent) as folder:
            descriptor = open_file(folder, name, path)
            with os.fdopen(descriptor, encoding="utf-8", errors="replace", newline="") as file:
                return file.read(limit)

    # Writing.

    def write(self, texts: Mapping[str, str]) -> None:
        """Write new files in a staging folder, and create missing parent folders. `texts` has the texts by path.

        The files are not yet synced to the disk.
        """
        for folder, name, path, text in self._entries(texts, make=True):
            with errors_at(path):
                write_temporary(folder, name, text.encode(), _FILE_MODE, sync=False)

    def sync_files(self, paths: Collection[str], number: int) -> None:
        """Sync staged files to the disk.

        Args:
            paths: The staged files of one job; empty after the last job.
            number: The approximate number of files in the whole batch. If the number is small, tfgen syncs each file.
                If the number is large, tfgen calls sync once, after the last job.
        """
        if number > SYNC_EACH_UP_TO:
            if not paths:
                os.sync()
            return
        for folder, name, path, _ in self._entries(dict.fromkeys(paths)):
            with errors_at(path):
                descriptor = open_file(folder, name, path)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)

    def prepare(self, digests: Mapping[str, str | None]) -> set[str]:
        """Create the parent folders of files, and return the new job folders, which `replace` renames as a whole.

        Args:
            digests: As in `replace`.

        Raises:
            TfgenError: tfgen cannot write to a folder.
        """
        replaced = {job_folder(path) for path, digest in digests.items() if digest is not None}
        own = set(filter(None, map(job_folder, digests)))
        new = {folder for folder in own - replaced if not self._is_there(folder)}
        parents = {split(folder)[0] for folder in new} | {
            split(path)[0] for path in digests if job_folder(path) not in new
        }
        with self._folders(make=True) as way:
            for parent in sorted(parents):
                with errors_at(parent or self.path):
                    if not os.access(".", os.W_OK | os.X_OK, dir_fd=way.open(parent)):
                        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), parent)
        return new

    def replace(self, staged: str, digests: Mapping[str, str | None], new: Set[str] = frozenset()) -> None:
        """Rename staged files to their final paths.

        Args:
            staged: The folder with the staged files. The path of a file in this folder is its final path.
            digests: The digest of the file that tfgen replaces, by final path; None if no file may exist at the path.
            new: The job folders that `prepare` found missing.

        Raises:
            TfgenError: A file changed after the call of `states`. This file and all following files remain unchanged.
        """
        own = set(filter(None, map(job_folder, digests)))
        for own_folder in sorted(own & new):
            self._rename_folder(join(staged, own_folder), own_folder)
        single_files = {path: digest for path, digest in digests.items() if job_folder(path) not in new}
        with self._folders() as source:
            for folder, name, path, digest in self._entries(single_files):
                check_digest(folder, name, path, digest)
                with errors_at(path):
                    staged_in = source.open(split(join(staged, path))[0])
                    os.replace(name, name, src_dir_fd=staged_in, dst_dir_fd=folder)

    def move(self, staged: str, folder: str, names: Iterable[str]) -> None:
        """Rename all files of a staging folder to another folder, without a check of the files that they replace."""
        with self._folders() as source, self._folders(make=True) as target, errors_at(folder):
            staged_in, moved_to = source.open(staged), target.open(folder)
            for name in names:
                os.replace(name, name, src_dir_fd=staged_in, dst_dir_fd=moved_to)

    def remove(self, digests: Mapping[str, str | None]) -> None:
        """Remove files. `digests` has the expected digest of each file, by path.

        Raises:
            TfgenError: A file has changed. This file and all following files remain.
        """
        for folder, name, path, digest in self._entries(digests):
            check_digest(folder, name, path, digest)
            with errors_at(path):
                os.unlink(name, dir_fd=folder)

    def discard(self, paths: Iterable[str]) -> None:
        """Remove ledgers, temporary files and staging folders, whatever content they have.

        Missing paths are ignored.

        Raises:
            TfgenError: The disk refuses to remove some paths. All other paths are removed.
        """
        faults: list[TfgenError] = []
        for parent, entries in _by_folder(paths):
            with suppress(FileNotFoundError, BlockedPathError), self._folder(parent) as folder:
                for name, path in entries:
                    try:
                        with errors_at(path), suppress(FileNotFoundError):
                            _remove(name, folder)
                    except TfgenError as error:
                        faults.append(error)
        if faults:
            raise faults[0]

    def prune(self, paths: Iterable[str]) -> None:
        """Remove the empty parent folders of the given paths, except for the output folder."""
        folders = {folder for path in paths for folder in ancestors(path)}
        for path in sorted(folders, key=lambda folder: folder.count("/"), reverse=True):
            parent, name = split(path)
            # rmdir refuses a folder with content, and an empty folder that remains is harmless.
            with suppress(OSError, TfgenError), self._folder(parent) as folder:
                os.rmdir(name, dir_fd=folder)

    def sync_folders(self, paths: Iterable[str], number: int) -> None:
        """Sync the parent folders of the given paths to the disk, so that renames and removals survive a power failure.

        Args:
            paths: The paths.
            number: The number of paths, or slightly more. For a large number, tfgen calls sync once.
        """
        if number > SYNC_EACH_UP_TO:
            os.sync()
            return
        folders = {"", *(folder for path in paths for folder in ancestors(path))}
        with self._folders() as way:
            for folder in sorted(folders):
                with suppress(FileNotFoundError, BlockedPathError):
                    descriptor = way.open(folder)
                    with errors_at(folder or self.path):
                        os.fsync(descriptor)

    @contextmanager
    def locked(self, *, shared: bool = False, make: bool | None = None) -> Iterator[None]:
        """Lock the folder of the ledgers against other tfgen processes during the block.

        The lock is on the folder itself, so a killed process leaves no lock file.

        Args:
            shared: Whether several processes may have the lock at the same time, to read files.
            make: Whether to create a missing folder; by default, only an exclusive lock creates the folder. Without
                the folder, the function locks nothing.

        Raises:
            TfgenError: Another process had the lock for LOCK_WAIT_S seconds.
        """
        descriptor = None
        with suppress(FileNotFoundError), self._folders(make=not shared if make is None else make) as way:
            way.open(RESERVED_PREFIX)
            descriptor = way.take()
        if descriptor is None:
            yield
            return
        try:
            deadline = time.monotonic() + LOCK_WAIT_S
            while not _try_lock(descriptor, RESERVED_PREFIX, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
                if time.monotonic() >= deadline:
                    raise TfgenError(
                        f"{self.path}: another tfgen process has used this folder for {LOCK_WAIT_S:g} s; "
                        "wait for that process or stop it, and run the command again"
                    )
                time.sleep(0.05)
            if os.fstat(descriptor).st_nlink:
                yield
                return
        finally:
            os.close(descriptor)
        with self.locked(shared=shared, make=make):  # another process removed the folder that this process locked
            yield

    def _entries(self, values: Mapping[str, _Value], *, make: bool = False) -> Iterator[tuple[int, str, str, _Value]]:
        """Yield each path of a mapping as the open parent folder, the file name, the path, and the value of the path.

        With `make`, missing parent folders are created. Without `make`, the parent folders must exist.
        """
        with self._folders(make=make) as way:
            for parent, entries in _by_folder(values):
                with errors_at(parent or self.path):
                    folder = way.open(parent)
                for name, path in entries:
                    yield folder, name, path, values[path]

    def _rename_folder(self, staged: str, path: str) -> None:
        """Rename a staged folder to its final path, which must not exist."""
        (staged_parent, name), (parent, _) = split(staged), split(path)
        try:
            with self._folder(staged_parent) as source, self._folder(parent) as folder:
                os.replace(name, name, src_dir_fd=source, dst_dir_fd=folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise TfgenError(f"{path}: {error.strerror or error}") from error
            raise TfgenError(
                f"{path}: another program created the folder while tfgen ran; tfgen kept the folder; "
                "run the command again"
            ) from error

    def _is_there(self, path: str) -> bool:
        parent, name = split(path)
        try:
            with errors_at(path, but=FileNotFoundError), self._folder(parent) as folder:
                os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def _folder(self, path: str) -> Iterator[int]:
        """Open a folder below the output folder during the block. Raises the errors of `_Folders.open`."""
        with self._folders() as way:
            yield way.open(path)

    def _folders(self, *, make: bool = False) -> _Folders:
        return _Folders(self.path, self._root, make=make)


class _Folders:
    """Descriptors of open folders. The parents of the last folder stay open, so sorted paths need fewer calls of open.

    Args:
        top: The path of the output folder.
        root: The descriptor of the output folder; None if the folder is missing.
        make: Whether to create missing folders. If `make` is false, a missing folder is an error.
    """

    def __init__(self, top: Path, root: int | None, *, make: bool) -> None:
        self._top = top
        self._root = root
        self._make = make
        self._way: list[tuple[str, int]] = []
        """The path and the descriptor of each open folder. Each folder contains the next folder of the list."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._go_up_to(0)

    def open(self, path: str) -> int:
        """Open a folder and return its descriptor, which is valid until the next call.

        Raises:
            FileNotFoundError: The folder is missing.
            BlockedPathError: A link or a file blocks the path.
            TfgenError: The disk fails.
        """
        way = [*ancestors(path), path] if path else []
        shared = 0
        while shared < min(len(way), len(self._way)) and way[shared] == self._way[shared][0]:
            shared += 1
        with errors_at(path or self._top, but=FileNotFoundError):
            self._go_up_to(shared)
            for folder in way[shared:]:
                self._way.append((folder, self._open_child(folder)))
            return self._last()

    def take(self) -> int:
        """Return the descriptor of the folder that was opened last. The caller must close the descriptor."""
        return self._way.pop()[1]

    def _last(self) -> int:
        if self._root is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._top))
        return self._way[-1][1] if self._way else self._root

    def _go_up_to(self, depth: int) -> None:
        while len(self._way) > depth:
            os.close(self._way.pop()[1])

    def _open_child(self, path: str) -> int:
        parent, name = self._last(), split(path)[1]
        try:
            return open_folder(name, within=parent)
        except FileNotFoundError:
            if not self._make:
                raise
            with suppress(FileExistsError):  # another process may have created the folder
                os.mkdir(name, _FOLDER_MODE, dir_fd=parent)
            return open_folder(name, within=parent)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            obstacle = describe_mode(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
            raise BlockedPathError(f"{path} is {obstacle}, where tfgen needs a folder") from error


def _remove(name: str, folder: int) -> None:
    """Remove a file, or a temporary folder with its content. Raises OSError."""
    if not is_temporary(name) or not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=folder)
        return
    import shutil  # the import takes 3 ms; only a killed or failed render needs it

    shutil.rmtree(name, dir_fd=folder)


def _by_folder(paths: Iterable[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Group paths by parent folder, so that each folder is opened only once.

    Example: ("charts/mnist", [("Chart.yaml", "charts/mnist/Chart.yaml"), ...]).
    """
    entries = sorted((*split(path), path) for path in paths)
    for parent, group in groupby(entries, key=lambda entry: entry[0]):
        yield parent, [(name, path) for _, name, path in group]


def _entry(folder: int, name: str, path: str) -> DiskEntry:
    with errors_at(path):
        try:
            digest, unix_digest = digests_on_disk(folder, name, path)
            return DiskEntry(digest, None, unix_digest) if digest else _NOTHING
        except BlockedPathError as error:
            return DiskEntry(obstacle=str(error))


def _try_lock(descriptor: int, path: str, operation: int) -> bool:
    with errors_at(path):
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _is_locked(parent: int, name: str) -> bool:
    """Return whether a running process has a lock on a folder."""
    try:
        folder = open_folder(name, within=parent)
    except OSError:  # a file, or a folder that has just been removed
        return False
    try:
        return not _try_lock(folder, name, fcntl.LOCK_EX)
    finally:
        os.close(folder)


# -- the output folder in git ------------------------------------------------------------------------------------------


class GitFolder:
    """An output folder in a tree of git. The functions have the results of the functions of `OutputFolder`."""

    def __init__(self, path: Path, tree: Tree) -> None:
        self.path = path
        self._tree = tree

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the block. A tree of git needs no end."""

    def states(self, paths: Iterable[str]) -> dict[str, DiskEntry]:
        """Return the state of each of the given paths, by path."""
        wanted = {path: self.path / path for path in paths}
        contents = self._tree.read_all(wanted.values())
        entries: dict[str, DiskEntry] = {}
        for path, whole in wanted.items():
            if whole in contents:
                digest, unix_digest = digests_of(contents[whole])
                entries[path] = DiskEntry(digest, None, unix_digest)
            else:
                kind = self._tree.kind(whole)
                entries[path] = DiskEntry(obstacle=kind and f"{path} is a {kind}, where tfgen needs a file")
        return entries

    def names(self, folder: str) -> list[str]:
        """Return the sorted names of the files of a folder; empty for a missing folder."""
        return self._tree.names(self.path / folder)

    def abandoned(self) -> list[str]:
        """Return an empty list, because git contains no staging folder."""
        return []

    def read_text(self, path: str, limit: int = -1) -> str:
        """Return the text of a file, or the first `limit` characters. U+FFFD replaces bytes that are not UTF-8.

        Raises:
            TfgenError: the file does not exist.
        """
        content = self._tree.read(self.path / path)
        if content is None:
            raise TfgenError(f"{path}: {self._tree.title} has no such file")
        return content.decode("utf-8", "replace")[: limit if limit >= 0 else None]


ReadableFolder: TypeAlias = OutputFolder | GitFolder
"""An output folder on disk or in git, with the functions that read files."""


def open_tree(out: Path, tree: Tree) -> ReadableFolder:
    """Return the output folder `out` in a version of its repository. The folder is open inside a `with` block."""
    return OutputFolder(out) if tree is DISK else GitFolder(out, tree)


# -- a folder of generated files, which tfgen replaces as a whole --------------------------------------------------


def write_folder(folder: Path, files: Iterable[tuple[str, bytes]], *, mark: tuple[str, str] | None = None) -> int:
    """Write a folder of generated files, completely or not at all, and return the number of files.

    Args:
        folder: the folder. Without `mark`, the folder must not exist.
        files: the path, from the folder, and the content of each file.
        mark: the path and a part of the text of a file that marks a folder of an earlier call. tfgen replaces such a
            folder, or an empty folder.

    Raises:
        UsageError: the folder exists, and tfgen may not replace it.
        TfgenError: the disk fails. The folder is as before.
    """
    import shutil  # these imports take 13 ms, and most commands do not need them
    import tempfile

    folder = folder.resolve()
    with errors_at(folder):
        if folder.exists() and mark is None:
            raise UsageError(f"{folder}: the folder exists; name a new folder")
        if folder.exists() and mark and not _has_mark(folder, *mark):
            raise UsageError(f"{folder}: tfgen did not write this folder; name a new or an empty folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            number = 0
            (staged / "new").mkdir()
            for path, content in files:
                target = staged / "new" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                number += 1
            earlier = staged / "old"
            if folder.exists():
                folder.rename(earlier)
            try:
                (staged / "new").rename(folder)
            except OSError:
                if earlier.exists():
                    earlier.rename(folder)
                raise
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    return number


def _has_mark(folder: Path, file: str, mark: str) -> bool:
    """Return whether a folder is empty, or has a file that contains the text `mark`."""
    marked = folder / file
    is_empty = folder.is_dir() and not any(folder.iterdir())
    return is_empty or (marked.is_file() and mark in marked.read_text(encoding="utf-8"))
