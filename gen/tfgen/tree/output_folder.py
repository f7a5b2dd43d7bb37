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
from tfgen.places import own_folder
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
"""Files in a batch that are synced one by one; more are synced by one sync of the whole machine.

Seen on ext4 for 100 files: 37 ms one by one, 6 ms at once; for 1,000, 390 and 53 ms. A small batch must not pay for
what other programs have still to write, so it syncs its own files alone.
"""


class DiskEntry(Record):
    """What is on disk at a path: a file's SHA-256, or why no file can be there. Both are None where there is nothing.

    `unix_digest` is the file's SHA-256 with LF for each CRLF, where it has any. git may check a file out with CRLF.
    """

    digest: str | None = None
    obstacle: str | None = None
    unix_digest: str | None = None


_NOTHING = DiskEntry()


class OutputFolder:
    """An output folder, which need not exist yet. As a context manager it holds the folder open.

    Args:
        path: The folder. Its own path may contain symbolic links; a path below it may not.
        create: Whether a missing folder is made, with its parents.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        self._create = create
        self._root: int | None = None
        self._key = os.urandom(16)
        """What their names follow from, with their paths: nobody knows them before, and none is kept in memory."""

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
        """What is on disk at each path."""
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
        """The names in a folder, sorted. A folder that is missing has none."""
        try:
            with self._folder(folder) as descriptor, errors_at(folder), os.scandir(descriptor) as entries:
                return sorted(entry.name for entry in entries)
        except FileNotFoundError:
            return []

    def temporary_files(self, folder: str) -> list[str]:
        """The paths of temporary files and folders in a folder, sorted. A render that was killed leaves them."""
        try:
            with self._folder(folder) as descriptor, errors_at(folder), os.scandir(descriptor) as entries:
                names = [e.name for e in entries if is_temporary(e.name) and not e.is_symlink()]
        except (FileNotFoundError, BlockedPathError):
            return []
        return sorted(_joined(folder, name) for name in names)

    def read_text(self, path: str, limit: int = -1) -> str:
        """A file's text, at most its first `limit` characters. U+FFFD stands for bytes that are not UTF-8.

        Raises TfgenError if there is no such file.
        """
        parent, name = _split(path)
        with errors_at(path), self._folder(parent) as folder:
            descriptor = open_file(folder, name, path)
            with os.fdopen(descriptor, encoding="utf-8", errors="replace", newline="") as file:
                return file.read(limit)

    # Writing.

    def stage(self, texts: Mapping[str, str], number: int, *, replaced: Iterable[str] = ()) -> None:
        """Writes each text to a temporary file beside its path, or in a temporary folder beside the job's own.

        An error leaves some, for `unstage`.

        Args:
            texts: Some texts by path.
            number: How many are staged together with these, or a few more: of few, each is synced.
            replaced: Those of the paths that have a file, so that the folders of these are there.
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
        """Syncs what is staged where it is many files, of which none was synced by itself."""
        if number > SYNC_EACH_UP_TO:
            os.sync()

    def unstage(self, batches: Iterable[Collection[str]]) -> None:
        """Removes what is staged, and the folders above it that are empty then, as `prune` does.

        Args:
            batches: The paths that something may be staged for.

        Raises:
            TfgenError: The disk does not let go of some. All else is removed.
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
        """If the block fails, does what `unstage` does, as far as the disk lets it."""
        try:
            yield
        except BaseException:
            with suppress(TfgenError):
                self.unstage(batches)
            raise

    def replace(self, digests: Mapping[str, str | None]) -> None:
        """Renames staged files, and folders, to their paths.

        Args:
            digests: By path, that of the file that must still be there; None for no file.

        Raises:
            TfgenError: A file changed since `survey`. That file and those after it stay as they are.
        """
        whole = {folder for folder in sorted(_own_folders(digests)) if self._put_folder(folder)}
        rest = {path: digest for path, digest in digests.items() if own_folder(path) not in whole} if whole else digests
        for folder, name, path, digest in self._entries([rest]):
            expect(folder, name, path, digest)
            self._put(folder, name, path)

    def put(self, paths: Iterable[str]) -> None:
        """Renames staged files to their paths without a look at what is there."""
        for folder, name, path, _ in self._entries([dict.fromkeys(paths)]):
            self._put(folder, name, path)

    def remove(self, batches: Iterable[Mapping[str, str | None]]) -> None:
        """Removes each file that still has its digest. Raises the errors of `replace`."""
        for folder, name, path, digest in self._entries(batches):
            expect(folder, name, path, digest)
            with errors_at(path):
                os.unlink(name, dir_fd=folder)

    def discard(self, paths: Iterable[str]) -> None:
        """Removes what exists, without a look at digests: ledgers, and temporary files and folders.

        Raises TfgenError where the disk does not let go of some; all else is removed.
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
        """Removes empty folders above these paths, but not the output folder itself."""
        folders = {folder for path in paths for folder in ancestors(path)}
        for path in sorted(folders, key=lambda folder: folder.count("/"), reverse=True):
            self._remove_empty(path)

    def sync_folders(self, paths: Iterable[str], number: int) -> None:
        """Syncs the folders of these paths, so that renames and removals survive a loss of power.

        Args:
            paths: The paths.
            number: How many they are, or a few more.
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
        """Locks the folder itself against other tfgen processes. There is no lock file that could stay behind.

        Args:
            folder: The folder. An exclusive lock makes it where it is missing; a shared lock does not need it.
            wait_s: How long to wait for another process, in seconds.
            shared: Whether other readers may hold the lock too.

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
                        f"{self.path}: another tfgen has been at work here for {wait_s:g} s; "
                        "wait for it to end, or end it, and run this again"
                    )
                time.sleep(0.05)
            yield
        finally:
            os.close(descriptor)

    def _entries(self, batches: Iterable[Mapping[str, _Value]]) -> Iterator[tuple[int, str, str, _Value]]:
        """Each path with its folder's descriptor, its name there and its value; all folders must be there."""
        with self._folders() as way:
            for values in batches:
                for parent, entries in _by_folder(values):
                    with errors_at(parent or self.path):
                        folder = way.open(parent)
                    for name, path in entries:
                        yield folder, name, path, values[path]

    def _put(self, folder: int, name: str, path: str) -> None:
        with errors_at(path):
            os.replace(self._temporary(path), name, src_dir_fd=folder, dst_dir_fd=folder)

    def _put_folder(self, path: str) -> bool:
        """Whether a folder is staged; if so, it is renamed to its path, where there must still be nothing."""
        parent, name = _split(path)
        try:
            with self._folder(parent) as folder:
                os.replace(self._temporary(path), name, src_dir_fd=folder, dst_dir_fd=folder)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise TfgenError(f"{path}: {error.strerror or error}") from error
            raise TfgenError(f"{path}: was made while tfgen ran, and is left as it is; run this again") from error
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
        """Where a file or folder is staged: beside its path."""
        return _joined(_split(path)[0], self._temporary(path))

    def _staged(self, path: str, new: Set[str]) -> str:
        """Where a file is staged: in its job's own folder, if that is staged."""
        folder = own_folder(path)
        if folder is None or folder not in new:
            return self._staging(path)
        return self._staging(folder) + path.removeprefix(folder)

    def _remove_empty(self, path: str) -> None:
        parent, name = _split(path)
        # rmdir removes nothing that has anything in it, and an empty folder that stays does no harm.
        with suppress(OSError, TfgenError), self._folder(parent) as folder:
            os.rmdir(name, dir_fd=folder)

    @contextmanager
    def _folder(self, path: str) -> Iterator[int]:
        """The folder's descriptor. Raises as `_Folders.open` does."""
        with self._folders() as way:
            yield way.open(path)

    def _folders(self, *, make: bool = False) -> _Folders:
        return _Folders(self.path, self._root, make=make)


class _Folders:
    """Opens folders one after the other. Those on the way to the last one stay open, so that each is opened once.

    Args:
        top: The output folder's path.
        root: Its descriptor; None where it is missing.
        make: Missing folders are made; otherwise they are an error.
    """

    def __init__(self, top: Path, root: int | None, *, make: bool) -> None:
        self._top = top
        self._root = root
        self._make = make
        self._way: list[tuple[str, int]] = []
        """Each open folder's path and descriptor: each is within the one before."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._go_up_to(0)

    def open(self, path: str) -> int:
        """A folder's descriptor, until the next one is opened.

        Raises:
            FileNotFoundError: It is missing.
            BlockedPathError: A link or a file is in its way.
            TfgenError: The disk fails.
        """
        with errors_at(path or self._top, but=FileNotFoundError):
            return self._open(path)

    def take(self) -> int:
        """The descriptor of the folder that was opened last, which the caller closes."""
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
            with suppress(FileExistsError):  # another process that writes other files may have made it meanwhile
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
    return {folder for path in paths if (folder := own_folder(path))}


def _remove(name: str, folder: int) -> None:
    """Remove a file, or a temporary folder with all that is in it. Raises OSError."""
    if not is_temporary(name) or not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=folder)
        return
    import shutil  # 3 ms, for a render that was killed or failed

    shutil.rmtree(name, dir_fd=folder)


def _by_folder(paths: Iterable[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The names and paths of files by their folder, so that tfgen opens each folder once."""
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
