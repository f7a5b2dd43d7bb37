"""The output folder on disk. tfgen reads and writes below it by this module alone.

    with OutputFolder(Path(".")) as folder:
        folder.survey(["charts/dist-mnist/Chart.yaml"])

tfgen opens one folder of a path after the other by file descriptor, with O_NOFOLLOW. So a symbolic link in a path is an
error, even if somebody makes it while tfgen runs, and tfgen never reaches a file outside the folder. Every OSError
becomes a TfgenError that names the path.

`disk_file` replaces a file. tfgen writes all temporary files of a batch before it renames the first one. So a full disk
is an error while every old file is still there. A job's own folder that is not there yet is one temporary folder, with
all that it is to have. One rename costs less than one for each of its files, and a kill leaves the folder whole or not
there.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from tfgen.errors import TfgenError
from tfgen.places import job_folder
from tfgen.record import Record
from tfgen.tree.disk_file import (
    BlockedPathError,
    describe_mode,
    digests_on_disk,
    errors_at,
    expect,
    is_temporary,
    open_file,
    open_folder,
    temporary_name,
    write_temporary,
)
from tfgen.tree.file_tree import ancestors

_Value = TypeVar("_Value")

_FILE_MODE = 0o644
_FOLDER_MODE = 0o755

SYNC_EACH_UP_TO = 100
"""Maximum number of files that tfgen syncs one by one; a larger batch is synced by one sync of the whole machine.

Measured on ext4: for 100 files 37 ms one by one and 6 ms at once; for 1,000 files 390 ms and 53 ms. A sync of the
machine also waits for the writes of other programs, so a small batch syncs only its own files.
"""


class DiskEntry(Record):
    """The state of a path on disk: the SHA-256 of the file, or the obstacle.

    Both are None for a path that does not exist.

    `unix_digest` is the SHA-256 of the file with LF in place of each CRLF, if the file has any. git may check out CRLF.
    """

    digest: str | None = None
    obstacle: str | None = None
    unix_digest: str | None = None


_NOTHING = DiskEntry()


class OutputFolder:
    """An output folder, which may not exist yet. The context manager keeps the folder open.

    Args:
        path: The folder. Its own path may contain symbolic links; a path below it may not.
        create: Whether to create a missing folder and its parents.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        self._create = create
        self._root: int | None = None
        self._key = os.urandom(16)
        """Secret key of the names of temporary files: nobody can guess the names, and tfgen need not store them."""

    def __enter__(self) -> Self:
        with errors_at(self.path):
            if self._create:
                self.path.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                self._root = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._root is not None:
            os.close(self._root)
            self._root = None

    # Reading.

    def survey(self, paths: Iterable[str]) -> dict[str, DiskEntry]:
        """Return the state of each path on disk."""
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
        """Return the names in a folder, sorted. A missing folder has no names."""
        try:
            with self._folder(folder) as descriptor, errors_at(folder), os.scandir(descriptor) as entries:
                return sorted(entry.name for entry in entries)
        except FileNotFoundError:
            return []

    def temporary_files(self, folder: str) -> list[str]:
        """Return the sorted paths of the temporary files and folders that a killed render left in a folder."""
        try:
            with self._folder(folder) as descriptor, errors_at(folder), os.scandir(descriptor) as entries:
                names = [e.name for e in entries if is_temporary(e.name) and not e.is_symlink()]
        except (FileNotFoundError, BlockedPathError):
            return []
        return sorted(_joined(folder, name) for name in names)

    def read_text(self, path: str, limit: int = -1) -> str:
        """Return the text of a file, or its first `limit` characters. U+FFFD replaces bytes that are not UTF-8.

        Raises TfgenError if the file does not exist.
        """
        parent, name = _split(path)
        with errors_at(path), self._folder(parent) as folder:
            descriptor = open_file(folder, name, path)
            with os.fdopen(descriptor, encoding="utf-8", errors="replace", newline="") as file:
                return file.read(limit)

    # Writing.

    def stage(self, texts: Mapping[str, str], number: int, *, replaced: Iterable[str] = ()) -> None:
        """Write each text to a temporary file next to its path, or to a temporary folder for a new job folder.

        After an error some staged files remain; the caller removes them with `unstage`.

        Args:
            texts: Texts by path.
            number: The number of files of the whole batch, or slightly more. The files of a small batch are synced one
                by one.
            replaced: The paths whose file exists already, so that their folders exist.
        """
        new = {folder for folder in _own_folders(texts) - _own_folders(replaced) if not self._is_there(folder)}
        staged = {self._staged(path, new): path for path in texts}
        with self._folders(make=True) as way:
            for parent, entries in _by_folder(staged):
                with errors_at(parent or self.path):
                    folder = way.open(parent)
                for name, at in entries:
                    with errors_at(path := staged[at]):
                        data, is_synced = texts[path].encode(), number <= SYNC_EACH_UP_TO
                        write_temporary(folder, name, data, _FILE_MODE, sync=is_synced)

    def sync_staged(self, number: int) -> None:
        """Sync the staged files of a large batch, which were not synced one by one."""
        if number > SYNC_EACH_UP_TO:
            os.sync()

    def unstage(self, batches: Iterable[Collection[str]]) -> None:
        """Remove staged files, and then the empty folders above them, as `prune` does.

        Args:
            batches: The paths that may have a staged file.

        Raises:
            TfgenError: The disk refuses to remove some files. All other files are removed.
        """
        faults: list[TfgenError] = []
        for paths in batches:
            try:
                self.discard(map(self._staging, (*paths, *_own_folders(paths))))
            except TfgenError as error:
                faults.append(error)
            self.prune(paths)
        if faults:
            raise faults[0]

    @contextmanager
    def unstaged_on_error(self, batches: Iterable[Collection[str]]) -> Iterator[None]:
        """Call `unstage` if the block fails, and ignore errors of the disk."""
        try:
            yield
        except BaseException:
            with suppress(TfgenError):
                self.unstage(batches)
            raise

    def replace(self, digests: Mapping[str, str | None]) -> None:
        """Rename staged files and folders to their paths.

        Args:
            digests: Path -> digest of the file that must still exist; None for no file.

        Raises:
            TfgenError: A file changed since `survey`. That file and the files after it remain unchanged.
        """
        renamed = {folder for folder in sorted(_own_folders(digests)) if self._rename_folder(folder)}
        single_files = (
            {path: digest for path, digest in digests.items() if job_folder(path) not in renamed}
            if renamed
            else digests
        )
        for folder, name, path, digest in self._entries([single_files]):
            expect(folder, name, path, digest)
            self._rename_file(folder, name, path)

    def move(self, paths: Iterable[str]) -> None:
        """Rename staged files to their paths, without a check of the existing files."""
        for folder, name, path, _ in self._entries([dict.fromkeys(paths)]):
            self._rename_file(folder, name, path)

    def remove(self, batches: Iterable[Mapping[str, str | None]]) -> None:
        """Remove each file that still has its digest. Raises the errors of `replace`."""
        for folder, name, path, digest in self._entries(batches):
            expect(folder, name, path, digest)
            with errors_at(path):
                os.unlink(name, dir_fd=folder)

    def discard(self, paths: Iterable[str]) -> None:
        """Remove the paths that exist, without a check of digests.

        The paths are ledgers, and temporary files and folders.

        Raises TfgenError if the disk refuses to remove some paths. All other paths are removed.
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
        """Remove empty folders above these paths, but not the output folder."""
        folders = {folder for path in paths for folder in ancestors(path)}
        for path in sorted(folders, key=lambda folder: folder.count("/"), reverse=True):
            self._remove_empty(path)

    def sync_folders(self, paths: Iterable[str], number: int) -> None:
        """Sync the folders of these paths, so that renames and removals survive a loss of power.

        Args:
            paths: The paths.
            number: The number of paths, or slightly more.
        """
        if number > SYNC_EACH_UP_TO:
            os.sync()
            return
        folders = {"", *(folder for path in paths for folder in ancestors(path))}
        with self._folders() as way:
            for folder in sorted(folders):
                with suppress(FileNotFoundError, BlockedPathError):
                    _fsync(way.open(folder), folder or self.path)

    @contextmanager
    def locked(self, folder: str, wait_s: float, *, shared: bool = False) -> Iterator[None]:
        """Lock the folder itself against other tfgen processes.

        A lock file, which a kill could leave behind, is not necessary.

        Args:
            folder: The folder. An exclusive lock creates a missing folder; a shared lock does not need the folder.
            wait_s: The maximum time to wait for another process, in seconds.
            shared: Whether other readers may have the lock at the same time.

        Raises:
            TfgenError: Another process had the lock for all of `wait_s` seconds.
        """
        descriptor = None
        with suppress(FileNotFoundError), self._folders(make=not shared) as way:
            way.open(folder)
            descriptor = way.take()
        if descriptor is None:
            yield
            return
        try:
            deadline = time.monotonic() + wait_s
            while not _try_lock(descriptor, folder, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
                if time.monotonic() >= deadline:
                    raise TfgenError(
                        f"{self.path}: another tfgen process has used this folder for {wait_s:g} s; "
                        "wait for that process or stop it, and run the command again"
                    )
                time.sleep(0.05)
            yield
        finally:
            os.close(descriptor)

    def _entries(self, batches: Iterable[Mapping[str, _Value]]) -> Iterator[tuple[int, str, str, _Value]]:
        """Yield the descriptor of each path's folder, the name in the folder, the path and its value.

        All folders must exist.
        """
        with self._folders() as way:
            for values in batches:
                for parent, entries in _by_folder(values):
                    with errors_at(parent or self.path):
                        folder = way.open(parent)
                    for name, path in entries:
                        yield folder, name, path, values[path]

    def _rename_file(self, folder: int, name: str, path: str) -> None:
        with errors_at(path):
            os.replace(self._temporary(path), name, src_dir_fd=folder, dst_dir_fd=folder)

    def _rename_folder(self, path: str) -> bool:
        """Rename a staged folder to its path, which must not exist. Return False if no folder is staged."""
        parent, name = _split(path)
        try:
            with self._folder(parent) as folder:
                os.replace(self._temporary(path), name, src_dir_fd=folder, dst_dir_fd=folder)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise TfgenError(f"{path}: {error.strerror or error}") from error
            raise TfgenError(
                f"{path}: appeared while tfgen ran; tfgen left the folder unchanged; run the command again"
            ) from error
        return True

    def _is_there(self, path: str) -> bool:
        parent, name = _split(path)
        try:
            with errors_at(path, but=FileNotFoundError), self._folder(parent) as folder:
                os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def _temporary(self, path: str) -> str:
        return temporary_name(hashlib.blake2b(path.encode(), key=self._key, digest_size=8).digest())

    def _staging(self, path: str) -> str:
        """Return the path of the staged file or folder, next to the final path."""
        return _joined(_split(path)[0], self._temporary(path))

    def _staged(self, path: str, new: Set[str]) -> str:
        """Return the path of a staged file: in the staged folder of its job, if the folder is new."""
        folder = job_folder(path)
        if folder is None or folder not in new:
            return self._staging(path)
        return self._staging(folder) + path.removeprefix(folder)

    def _remove_empty(self, path: str) -> None:
        parent, name = _split(path)
        # rmdir refuses a folder with content, and an empty folder that remains is harmless.
        with suppress(OSError, TfgenError), self._folder(parent) as folder:
            os.rmdir(name, dir_fd=folder)

    @contextmanager
    def _folder(self, path: str) -> Iterator[int]:
        """Open a folder for the block. Raises the errors of `_Folders.open`."""
        with self._folders() as way:
            yield way.open(path)

    def _folders(self, *, make: bool = False) -> _Folders:
        return _Folders(self.path, self._root, make=make)


class _Folders:
    """Open folders one after the other. The parents of the last folder stay open, so that each folder is opened once.

    Args:
        top: The path of the output folder.
        root: The descriptor of the output folder; None if the folder is missing.
        make: Whether to create missing folders. Without it a missing folder is an error.
    """

    def __init__(self, top: Path, root: int | None, *, make: bool) -> None:
        self._top = top
        self._root = root
        self._make = make
        self._way: list[tuple[str, int]] = []
        """Path and descriptor of each open folder. Each folder contains the next one."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._go_up_to(0)

    def open(self, path: str) -> int:
        """Return the descriptor of a folder. The descriptor is valid until the next call.

        Raises:
            FileNotFoundError: The folder is missing.
            BlockedPathError: A link or a file blocks the path.
            TfgenError: The disk fails.
        """
        with errors_at(path or self._top, but=FileNotFoundError):
            return self._open(path)

    def take(self) -> int:
        """Return the descriptor of the folder that was opened last. The caller closes the descriptor."""
        return self._way.pop()[1]

    def _open(self, path: str) -> int:
        way = [*ancestors(path), path] if path else []
        shared = 0
        while shared < min(len(way), len(self._way)) and way[shared] == self._way[shared][0]:
            shared += 1
        self._go_up_to(shared)
        for folder in way[shared:]:
            self._way.append((folder, self._open_child(self._last(), _split(folder)[1], folder)))
        return self._last()

    def _last(self) -> int:
        if self._root is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._top))
        return self._way[-1][1] if self._way else self._root

    def _go_up_to(self, depth: int) -> None:
        while len(self._way) > depth:
            os.close(self._way.pop()[1])

    def _open_child(self, parent: int, name: str, path: str) -> int:
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


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _split(path: str) -> tuple[str, str]:
    parent, _, name = path.rpartition("/")
    return parent, name


def _own_folders(paths: Iterable[str]) -> Set[str]:
    return {folder for path in paths if (folder := job_folder(path))}


def _remove(name: str, folder: int) -> None:
    """Remove a file, or a temporary folder with its content. Raises OSError."""
    if not is_temporary(name) or not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=folder)
        return
    import shutil  # the import takes 3 ms; only a killed or failed render needs it

    shutil.rmtree(name, dir_fd=folder)


def _by_folder(paths: Iterable[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Group the names and paths of files by folder, so that tfgen opens each folder once."""
    entries = sorted((*_split(path), path) for path in paths)
    for parent, group in groupby(entries, key=lambda entry: entry[0]):
        yield parent, [(name, path) for _, name, path in group]


def _entry(folder: int, name: str, path: str) -> DiskEntry:
    with errors_at(path):
        try:
            digest, unix_digest = digests_on_disk(folder, name, path)
            return DiskEntry(digest, None, unix_digest) if digest else _NOTHING
        except BlockedPathError as error:
            return DiskEntry(obstacle=str(error))


def _fsync(descriptor: int, path: Path | str) -> None:
    with errors_at(path):
        os.fsync(descriptor)


def _try_lock(descriptor: int, path: str, operation: int) -> bool:
    with errors_at(path):
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
