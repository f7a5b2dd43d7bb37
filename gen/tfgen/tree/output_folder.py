"""The output folder on disk: every file operation that tfgen does below it, and no other way to it.

    with OutputFolder(Path(".")) as folder:
        folder.survey(["charts/dist-mnist/Chart.yaml"])

Paths are walked one folder at a time by file descriptor with O_NOFOLLOW, so a symbolic link in the way is an
error even if it is put there while tfgen runs, and nothing outside the folder is ever reached. Every OSError comes
out as a TfgenError that names the path.

A file is replaced as `disk_file` does it. All of a batch's temporary files are there before the first one is renamed:
a full disk is met while every old file still stands.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Self

from tfgen.errors import TfgenError
from tfgen.record import Record
from tfgen.tree.disk_file import (
    BlockedPathError,
    describe_mode,
    digest_on_disk,
    errors_at,
    expect,
    is_temporary,
    open_file,
    open_folder,
    temporary_name,
    unix_digest_on_disk,
    write_temporary,
)
from tfgen.tree.file_tree import ancestors

_FILE_MODE = 0o644
_FOLDER_MODE = 0o755

SYNC_EACH_UP_TO = 1_000
"""Files in a batch that are synced one by one; more are synced by one sync of the whole machine.

Seen on ext4 for 6,000 files: 1.3 s one by one, 0.04 s at once, next to 0.4 s for writing them. A small batch must
not pay for what other programs have still to write, so it syncs its own files alone.
"""


class DiskEntry(Record):
    """What is on disk at a path: a file's SHA-256, or why no file can be there, or (both None) nothing.

    `unix_digest` is the file's SHA-256 with LF for each CRLF, where it has any: git may have written it so.
    """

    digest: str | None = None
    obstacle: str | None = None
    unix_digest: str | None = None


class OutputFolder:
    """A folder that need not exist yet. Use it as a context manager, which holds it open.

    Args:
        path: The folder; it may itself be reached through links, only what is below it may not.
        create: Make it, and its parents, where it is missing.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        self._create = create
        self._root: int | None = None
        self._new_folders: list[str] = []
        self._staged: dict[str, str] = {}
        """Path -> its temporary file, beside it."""

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
        for parent, entries in _by_folder(paths):
            try:
                with self._folder(parent) as folder:
                    for name, path in entries:
                        on_disk[path] = _entry(folder, name, path)
            except FileNotFoundError:
                on_disk.update({path: DiskEntry() for _, path in entries})
            except BlockedPathError as error:
                on_disk.update({path: DiskEntry(obstacle=str(error)) for _, path in entries})
        return on_disk

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted; none where there is no such folder."""
        try:
            with self._folder(folder) as descriptor, errors_at(folder), os.scandir(descriptor) as entries:
                return sorted(entry.name for entry in entries)
        except FileNotFoundError:
            return []

    def temporary_files(self, folder: str) -> list[str]:
        """The paths of tfgen's temporary files in a folder, sorted: those of a render that was killed."""
        try:
            with self._folder(folder) as descriptor, errors_at(folder), os.scandir(descriptor) as entries:
                names = [e.name for e in entries if is_temporary(e.name) and e.is_file(follow_symlinks=False)]
        except (FileNotFoundError, BlockedPathError):
            return []
        return sorted(_joined(folder, name) for name in names)

    def read_text(self, path: str, limit: int = -1) -> str:
        """A file's text, at most `limit` characters of it, with U+FFFD for what is not UTF-8.

        Raises TfgenError if there is no such file.
        """
        parent, name = _split(path)
        with errors_at(path), self._folder(parent) as folder:
            descriptor = open_file(folder, name, path)
            with os.fdopen(descriptor, encoding="utf-8", errors="replace", newline="") as file:
                return file.read(limit)

    # Writing.

    def stage(self, texts: Mapping[str, str]) -> None:
        """Writes each text to a temporary file beside its path, and to the medium. On any error, none is left."""
        sync_each = len(texts) <= SYNC_EACH_UP_TO
        with self._undone_on_error():
            for parent, entries in _by_folder(texts):
                with errors_at(parent or self.path), self._folder(parent, make=True) as folder:
                    for _, path in entries:
                        with errors_at(path):
                            temporary = temporary_name()
                            self._staged[path] = _joined(parent, temporary)
                            write_temporary(folder, temporary, texts[path].encode(), _FILE_MODE, sync=sync_each)
            if not sync_each:
                os.sync()

    def replace(self, paths: Mapping[str, str | None]) -> None:
        """Puts staged files in their places.

        Args:
            paths: Path -> digest of the file that is to be there still, None for no file.

        Raises:
            TfgenError: A file was changed since it was surveyed; it and those after it are left alone.
        """
        with self._undone_on_error():
            for parent, entries in _by_folder(paths):
                with errors_at(parent or self.path), self._folder(parent) as folder:
                    for name, path in entries:
                        expect(folder, name, path, paths[path])
                        self._put(folder, name, path)

    def overwrite(self, texts: Mapping[str, str]) -> None:
        """Makes or replaces files, whatever they hold: for ledgers, which the lock guards."""
        self.stage(texts)
        with self._undone_on_error():
            for parent, entries in _by_folder(texts):
                with errors_at(parent or self.path), self._folder(parent) as folder:
                    for name, path in entries:
                        self._put(folder, name, path)
        self.sync_folders(texts)

    def remove(self, paths: Mapping[str, str | None]) -> None:
        """Removes files, each only if it still has its digest; raises as `replace` does."""
        for parent, entries in _by_folder(paths):
            with errors_at(parent or self.path), self._folder(parent) as folder:
                for name, path in entries:
                    expect(folder, name, path, paths[path])
                    with errors_at(path):
                        os.unlink(name, dir_fd=folder)

    def discard(self, paths: Iterable[str]) -> None:
        """Removes files, whatever they hold, where they are: for ledgers and temporary files."""
        for parent, entries in _by_folder(paths):
            with suppress(FileNotFoundError, BlockedPathError), self._folder(parent) as folder:
                for name, path in entries:
                    with errors_at(path), suppress(FileNotFoundError):
                        os.unlink(name, dir_fd=folder)

    def prune(self, paths: Iterable[str]) -> None:
        """Removes the folders above these paths that are empty, but not the output folder itself."""
        folders = {folder for path in paths for folder in ancestors(path)}
        for path in sorted(folders, key=lambda folder: folder.count("/"), reverse=True):
            self._remove_empty(path)

    def sync_folders(self, paths: Collection[str]) -> None:
        """Brings the renames and removals at these paths to the medium."""
        if len(paths) > SYNC_EACH_UP_TO:
            os.sync()
            return
        for folder in sorted({"", *(above for path in paths for above in ancestors(path))}):
            with suppress(FileNotFoundError, BlockedPathError), self._folder(folder) as descriptor:
                _fsync(descriptor, folder or self.path)

    @contextmanager
    def locked(self, folder: str, wait_s: float, *, shared: bool = False) -> Iterator[None]:
        """Keeps other tfgen processes out, by a lock on the folder itself: no lock file, and none is left behind.

        Args:
            folder: Made if it is not there; a shared lock does without.
            wait_s: How long to wait for another process.
            shared: Keep out those who write only.

        Raises:
            TfgenError: Another process had the lock for all of `wait_s` seconds.
        """
        descriptor = None
        with suppress(FileNotFoundError), errors_at(folder, but=FileNotFoundError):
            descriptor = self._descend(folder, make=not shared)
        self._new_folders.clear()  # the folder stays: another process may be waiting for its lock
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

    def _put(self, folder: int, name: str, path: str) -> None:
        with errors_at(path):
            os.replace(_split(self._staged[path])[1], name, src_dir_fd=folder, dst_dir_fd=folder)
        del self._staged[path]

    @contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        """Takes back what is staged if the block fails; what cannot be taken back, the next run finds by name."""
        try:
            yield
        except BaseException:
            with suppress(TfgenError):
                self.discard(self._staged.values())
            self._staged.clear()
            for path in reversed(self._new_folders):
                self._remove_empty(path)
            self._new_folders.clear()
            raise

    def _remove_empty(self, path: str) -> None:
        parent, name = _split(path)
        # rmdir removes nothing that has anything in it, and an empty folder that stays does no harm.
        with suppress(OSError, TfgenError), self._folder(parent) as folder:
            os.rmdir(name, dir_fd=folder)

    @contextmanager
    def _folder(self, path: str, *, make: bool = False) -> Iterator[int]:
        """The folder's descriptor. Raises FileNotFoundError, BlockedPathError, TfgenError."""
        with errors_at(path or self.path, but=FileNotFoundError):
            descriptor = self._descend(path, make=make)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _descend(self, path: str, *, make: bool) -> int:
        if self._root is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.path))
        descriptor = os.dup(self._root)
        try:
            for folder in (*ancestors(path), path) if path else ():
                name = _split(folder)[1]
                child = self._open_child(descriptor, name, folder, make=make)
                os.close(descriptor)
                descriptor = child
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _open_child(self, parent: int, name: str, path: str, *, make: bool) -> int:
        try:
            return open_folder(name, within=parent)
        except FileNotFoundError:
            if not make:
                raise
            os.mkdir(name, _FOLDER_MODE, dir_fd=parent)
            self._new_folders.append(path)
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


def _by_folder(paths: Iterable[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Folder -> (name, path) of the files in it, so that each folder is opened once."""
    entries = sorted((*_split(path), path) for path in paths)
    for parent, group in groupby(entries, key=lambda entry: entry[0]):
        yield parent, [(name, path) for _, name, path in group]


def _entry(folder: int, name: str, path: str) -> DiskEntry:
    with errors_at(path):
        try:
            digest = digest_on_disk(folder, name, path)
            return DiskEntry(digest, None, unix_digest_on_disk(folder, name, path) if digest else None)
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
