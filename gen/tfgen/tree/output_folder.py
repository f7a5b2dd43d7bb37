"""The output folder on disk. Only this module reads and writes files below the folder.

    with OutputFolder(Path(".")) as folder:
        folder.states(["charts/dist-mnist/Chart.yaml"])

tfgen never writes a file outside the output folder. To guarantee this, tfgen opens each folder of a path by file
descriptor, with O_NOFOLLOW. A symbolic link in a path is therefore an error, even if somebody creates the link while
tfgen runs. Every OSError becomes a TfgenError that names the path.

tfgen writes all new files to temporary files before it renames the first temporary file. So if the disk is full, every
old file is still in place.

tfgen first writes the files of a new job to one temporary folder, because one rename of this folder is faster than a
rename of each file. Even if tfgen is killed, the job's folder is either complete or missing.
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

from tfgen.disk_file import (
    BlockedPathError,
    check_digest,
    describe_mode,
    digests_on_disk,
    errors_at,
    is_temporary,
    open_file,
    open_folder,
    temporary_name,
    write_temporary,
)
from tfgen.errors import TfgenError
from tfgen.places import job_folder
from tfgen.record import Record
from tfgen.tree.file_tree import ancestors

_Value = TypeVar("_Value")

_FILE_MODE = 0o644
_FOLDER_MODE = 0o755

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
        self._key = os.urandom(16)
        """Secret key for the names of temporary files. Nobody can guess the names, and tfgen need not store them."""

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

    def temporary_files(self, folder: str) -> list[str]:
        """Return the sorted paths of the temporary files and folders that a killed render left in a folder."""
        try:
            with self._folder(folder) as descriptor, errors_at(folder), os.scandir(descriptor) as entries:
                names = [e.name for e in entries if is_temporary(e.name) and not e.is_symlink()]
        except (FileNotFoundError, BlockedPathError):
            return []
        return sorted(_joined(folder, name) for name in names)

    def read_text(self, path: str, limit: int = -1) -> str:
        """Return the text of a file, or the first `limit` characters. U+FFFD replaces bytes that are not UTF-8.

        Raises:
            TfgenError: The file does not exist.
        """
        parent, name = _split(path)
        with errors_at(path), self._folder(parent) as folder:
            descriptor = open_file(folder, name, path)
            with os.fdopen(descriptor, encoding="utf-8", errors="replace", newline="") as file:
                return file.read(limit)

    # Writing.

    def stage(self, texts: Mapping[str, str], number: int, *, replaced: Iterable[str] = ()) -> None:
        """Write each text to a temporary file next to its final path. The files of a new job get a temporary folder.

        After an error, some temporary files remain, and the caller must remove these files with `unstage`.

        Args:
            texts: The text of each file, by final path.
            number: The approximate number of files in the whole batch, as for `sync_staged`. If the number is small,
                tfgen calls fsync for each file.
            replaced: The paths at which a file already exists. The job folder of such a file is not new.
        """
        new = {folder for folder in _own_folders(texts) - _own_folders(replaced) if not self._is_there(folder)}
        staged = {self._staged_path(path, new): path for path in texts}
        with self._folders(make=True) as way:
            for parent, entries in _by_folder(staged):
                with errors_at(parent or self.path):
                    folder = way.open(parent)
                for name, at in entries:
                    with errors_at(path := staged[at]):
                        data, is_synced = texts[path].encode(), number <= SYNC_EACH_UP_TO
                        write_temporary(folder, name, data, _FILE_MODE, sync=is_synced)

    def sync_staged(self, number: int) -> None:
        """Sync a batch of staged files to the disk. `number` is the same number as for `stage`.

        If the number is small, do nothing, because `stage` has already synced each file.
        """
        if number > SYNC_EACH_UP_TO:
            os.sync()

    def unstage(self, batches: Iterable[Collection[str]]) -> None:
        """Remove staged files, and then the empty parent folders of these files.

        Args:
            batches: The final paths of files that may be staged. A file that is not staged is ignored.

        Raises:
            TfgenError: The disk refuses to remove some files. All other files are removed.
        """
        faults: list[TfgenError] = []
        for paths in batches:
            try:
                self.discard(map(self._temporary_path, (*paths, *_own_folders(paths))))
            except TfgenError as error:
                faults.append(error)
            self.prune(paths)
        if faults:
            raise faults[0]

    @contextmanager
    def unstaged_on_error(self, batches: Iterable[Collection[str]]) -> Iterator[None]:
        """Remove the staged files with `unstage` if the block fails. Errors of the disk are ignored."""
        try:
            yield
        except BaseException:
            with suppress(TfgenError):
                self.unstage(batches)
            raise

    def replace(self, digests: Mapping[str, str | None]) -> None:
        """Rename staged files and folders to their final paths.

        Args:
            digests: The digest of the file that tfgen replaces, by final path; None if no file may exist at the path.

        Raises:
            TfgenError: A file changed after the call of `states`. This file and all following files remain unchanged.
        """
        renamed = {folder for folder in sorted(_own_folders(digests)) if self._rename_folder(folder)}
        single_files = (
            {path: digest for path, digest in digests.items() if job_folder(path) not in renamed}
            if renamed
            else digests
        )
        for folder, name, path, digest in self._entries([single_files]):
            check_digest(folder, name, path, digest)
            self._rename_file(folder, name, path)

    def move(self, paths: Iterable[str]) -> None:
        """Rename staged files to their final paths, without a check of the files that the renames replace."""
        for folder, name, path, _ in self._entries([dict.fromkeys(paths)]):
            self._rename_file(folder, name, path)

    def remove(self, batches: Iterable[Mapping[str, str | None]]) -> None:
        """Remove files. Each mapping in `batches` has the expected digests of the files, by path.

        Raises:
            TfgenError: A file has changed. This file and all following files remain.
        """
        for folder, name, path, digest in self._entries(batches):
            check_digest(folder, name, path, digest)
            with errors_at(path):
                os.unlink(name, dir_fd=folder)

    def discard(self, paths: Iterable[str]) -> None:
        """Remove ledgers, temporary files and temporary folders, whatever content they have.

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
            self._remove_empty(path)

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
                    _fsync(way.open(folder), folder or self.path)

    @contextmanager
    def locked(self, folder: str, wait_s: float, *, shared: bool = False) -> Iterator[None]:
        """Lock a folder against other tfgen processes during the block.

        The lock is on the folder itself, so a killed process leaves no lock file.

        Args:
            folder: The folder. An exclusive lock creates a missing folder; a shared lock of a missing folder does
                nothing.
            wait_s: The maximum time to wait for another process, in seconds.
            shared: Whether several processes may have the lock at the same time, to read files.

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
        """Yield the items of the mappings in `batches`, each with the open parent folder of the path.

        The fields of an item are the descriptor of the parent folder, the file name, the path, and the value of the
        path. The parent folders must exist.
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
            os.replace(self._temporary_name(path), name, src_dir_fd=folder, dst_dir_fd=folder)

    def _rename_folder(self, path: str) -> bool:
        """Rename a staged folder to its final path, which must not exist. Return False if no folder is staged."""
        parent, name = _split(path)
        try:
            with self._folder(parent) as folder:
                os.replace(self._temporary_name(path), name, src_dir_fd=folder, dst_dir_fd=folder)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise TfgenError(f"{path}: {error.strerror or error}") from error
            raise TfgenError(
                f"{path}: another program created the folder while tfgen ran; tfgen kept the folder; "
                "run the command again"
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

    def _temporary_name(self, path: str) -> str:
        return temporary_name(hashlib.blake2b(path.encode(), key=self._key, digest_size=8).digest())

    def _temporary_path(self, path: str) -> str:
        """Return the temporary path of a file or folder, in the same parent folder as its final path `path`."""
        return _joined(_split(path)[0], self._temporary_name(path))

    def _staged_path(self, path: str, new: Set[str]) -> str:
        """Return the path of the temporary file that tfgen later renames to `path`.

        `new` contains the job folders that do not exist yet, such as `charts/mnist`. tfgen writes the files of a new
        job folder to a temporary folder, and later renames the temporary folder to the job folder.
        """
        folder = job_folder(path)
        if folder is None or folder not in new:
            return self._temporary_path(path)
        return self._temporary_path(folder) + path.removeprefix(folder)

    def _remove_empty(self, path: str) -> None:
        parent, name = _split(path)
        # rmdir refuses a folder with content, and an empty folder that remains is harmless.
        with suppress(OSError, TfgenError), self._folder(parent) as folder:
            os.rmdir(name, dir_fd=folder)

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
        with errors_at(path or self._top, but=FileNotFoundError):
            return self._open(path)

    def take(self) -> int:
        """Return the descriptor of the folder that was opened last. The caller must close the descriptor."""
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
    """Group paths by parent folder, so that each folder is opened only once.

    Example: ("charts/mnist", [("Chart.yaml", "charts/mnist/Chart.yaml"), ...]).
    """
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
