"""The output folder on disk: every file operation that tfgen does below it, and no other way to it.

    with OutputFolder(Path(".")) as folder:
        folder.survey(["charts/dist-mnist/Chart.yaml"])

Paths are walked one folder at a time by file descriptor with O_NOFOLLOW, so a symbolic link in the way is an
error even if it is put there while tfgen runs, and nothing outside the folder is ever reached. Every OSError comes
out as a TfgenError that names the path.

A file is replaced by a temporary file beside it, synced and renamed, so it is the old or the new one, whole, at any
moment. All of a batch's temporary files are there before the first one is renamed: a full disk is met while every
old file still stands.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Self

from tfgen.errors import TfgenError
from tfgen.record import Record
from tfgen.tree.file_tree import RESERVED_PREFIX, ancestors

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a FIFO put there meanwhile must not make tfgen wait
_MAKE_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_FILE_MODE = 0o644
_FOLDER_MODE = 0o755
_TEMPORARY = re.compile(rf"{re.escape(RESERVED_PREFIX)}-[0-9a-f]{{16}}\.tmp")
_CHUNK = 1 << 18

SYNC_EACH_UP_TO = 1_000
"""Files in a batch that are synced one by one; more are synced by one sync of the whole machine.

Seen on ext4 for 6,000 files: 1.3 s one by one, 0.04 s at once, next to 0.4 s for writing them. A small batch must
not pay for what other programs have still to write, so it syncs its own files alone.
"""


class Found(Record):
    """What is on disk at a path: a file's SHA-256, or why no file can be there, or (both None) nothing."""

    digest: str | None = None
    obstacle: str | None = None


class BlockedPathError(TfgenError):
    """Something in the way that tfgen neither follows nor replaces: a link, a folder for a file, or the reverse."""


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
        self._made: list[str] = []
        self._staged: set[str] = set()

    def __enter__(self) -> Self:
        with _errors_at(self.path):
            if self._create:
                self.path.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                self._root = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._root is not None:
            os.close(self._root)
            self._root = None

    # Reading.

    def survey(self, paths: Iterable[str]) -> dict[str, Found]:
        """What is on disk at each path."""
        found: dict[str, Found] = {}
        for parent, entries in _by_folder(paths):
            try:
                with self._folder(parent) as folder:
                    for name, path in entries:
                        found[path] = _found(folder, name, path)
            except FileNotFoundError:
                found.update({path: Found() for _, path in entries})
            except BlockedPathError as error:
                found.update({path: Found(obstacle=str(error)) for _, path in entries})
        return found

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted; none where there is no such folder."""
        try:
            with self._folder(folder) as descriptor, _errors_at(folder), os.scandir(descriptor) as entries:
                return sorted(entry.name for entry in entries)
        except FileNotFoundError:
            return []

    def read_text(self, path: str, limit: int = -1) -> str:
        """A file's text, at most `limit` characters of it, with U+FFFD for what is not UTF-8.

        Raises TfgenError if there is no such file.
        """
        parent, name = _split(path)
        with _errors_at(path), self._folder(parent) as folder:
            descriptor = _open_file(folder, name, path)
            with os.fdopen(descriptor, encoding="utf-8", errors="replace", newline="") as file:
                return file.read(limit)

    # Writing.

    def stage(self, texts: Mapping[str, str]) -> None:
        """Writes each text to a temporary file beside its path, and to the medium. On any error, none is left."""
        sync_each = len(texts) <= SYNC_EACH_UP_TO
        with self._undone_on_error():
            for parent, entries in _by_folder(texts):
                with _errors_at(parent or self.path), self._folder(parent, make=True) as folder:
                    for name, path in entries:
                        self._staged.add(path)
                        with _errors_at(path):
                            _write(folder, _temporary(name), texts[path].encode(), sync=sync_each)
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
                with _errors_at(parent or self.path), self._folder(parent) as folder:
                    for name, path in entries:
                        _expect(folder, name, path, paths[path])
                        self._put(folder, name, path)

    def overwrite(self, texts: Mapping[str, str]) -> None:
        """Makes or replaces files, whatever they hold: for ledgers, which the lock guards."""
        self.stage(texts)
        with self._undone_on_error():
            for parent, entries in _by_folder(texts):
                with _errors_at(parent or self.path), self._folder(parent) as folder:
                    for name, path in entries:
                        self._put(folder, name, path)
        self.sync_folders(texts)

    def remove(self, paths: Mapping[str, str | None]) -> None:
        """Removes files, each only if it still has its digest; raises as `replace` does."""
        for parent, entries in _by_folder(paths):
            with _errors_at(parent or self.path), self._folder(parent) as folder:
                for name, path in entries:
                    _expect(folder, name, path, paths[path])
                    with _errors_at(path):
                        os.unlink(name, dir_fd=folder)

    def discard(self, paths: Iterable[str]) -> None:
        """Removes files, whatever they hold, where they are: for ledgers and temporary files."""
        for parent, entries in _by_folder(paths):
            with suppress(FileNotFoundError, BlockedPathError), self._folder(parent) as folder:
                for name, path in entries:
                    with _errors_at(path), suppress(FileNotFoundError):
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
        with suppress(FileNotFoundError), _errors_at(folder, but=FileNotFoundError):
            descriptor = self._descend(folder, make=not shared)
        self._made.clear()  # the folder stays: another process may be waiting for its lock
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
        with _errors_at(path):
            os.replace(_temporary(name), name, src_dir_fd=folder, dst_dir_fd=folder)
        self._staged.discard(path)

    @contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        """Takes back what is staged if the block fails; what cannot be taken back, the next run finds by name."""
        try:
            yield
        except BaseException:
            with suppress(TfgenError):
                self.discard(map(temporary_path, self._staged))
            self._staged.clear()
            for path in reversed(self._made):
                self._remove_empty(path)
            self._made.clear()
            raise

    def _remove_empty(self, path: str) -> None:
        parent, name = _split(path)
        # rmdir removes nothing that has anything in it, and an empty folder that stays does no harm.
        with suppress(OSError, TfgenError), self._folder(parent) as folder:
            os.rmdir(name, dir_fd=folder)

    @contextmanager
    def _folder(self, path: str, *, make: bool = False) -> Iterator[int]:
        """The folder's descriptor. Raises FileNotFoundError, BlockedPathError, TfgenError."""
        with _errors_at(path or self.path, but=FileNotFoundError):
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
            return os.open(name, _OPEN_FOLDER, dir_fd=parent)
        except FileNotFoundError:
            if not make:
                raise
            os.mkdir(name, _FOLDER_MODE, dir_fd=parent)
            self._made.append(path)
            return os.open(name, _OPEN_FOLDER, dir_fd=parent)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            kind = _kind(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
            raise BlockedPathError(f"{path} is {kind}, where tfgen needs a folder") from error


def is_temporary(name: str) -> bool:
    """Whether a file of this name is one of tfgen's temporary files."""
    return _TEMPORARY.fullmatch(name) is not None


def temporary_path(path: str) -> str:
    """Where the next text of `path` is staged: always the same, so the next run knows what a killed one left."""
    parent, name = _split(path)
    return f"{parent}/{_temporary(name)}" if parent else _temporary(name)


def _temporary(name: str) -> str:
    return f"{RESERVED_PREFIX}-{hashlib.sha256(name.encode()).hexdigest()[:16]}.tmp"


def _split(path: str) -> tuple[str, str]:
    parent, _, name = path.rpartition("/")
    return parent, name


def _by_folder(paths: Iterable[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Folder -> (name, path) of the files in it, so that each folder is opened once."""
    entries = sorted((*_split(path), path) for path in paths)
    for parent, group in groupby(entries, key=lambda entry: entry[0]):
        yield parent, [(name, path) for _, name, path in group]


@contextmanager
def _errors_at(path: Path | str, *, but: type[OSError] | tuple[()] = ()) -> Iterator[None]:
    """Turns an OSError into a TfgenError that names the path; `but` lets one kind through."""
    try:
        yield
    except but:
        raise
    except OSError as error:
        raise TfgenError(f"{path}: {error.strerror or error}") from error


def _found(folder: int, name: str, path: str) -> Found:
    with _errors_at(path):
        try:
            return Found(digest=_digest(folder, name, path))
        except BlockedPathError as error:
            return Found(obstacle=str(error))


def _digest(folder: int, name: str, path: str) -> str | None:
    """SHA-256 of a file, None for no file. Raises BlockedPathError for anything else that is there."""
    try:
        descriptor = _open_file(folder, name, path)
    except FileNotFoundError:
        return None
    try:
        digest = hashlib.sha256()
        while chunk := os.read(descriptor, _CHUNK):
            digest.update(chunk)
        return digest.hexdigest()
    finally:
        os.close(descriptor)


def _open_file(folder: int, name: str, path: str) -> int:
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not stat.S_ISREG(mode):
        raise BlockedPathError(f"{path} is {_kind(mode)}, where tfgen needs a file")
    return os.open(name, _OPEN_FILE, dir_fd=folder)


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a file" if stat.S_ISREG(mode) else "a device, pipe or socket"


def _expect(folder: int, name: str, path: str, digest: str | None) -> None:
    with _errors_at(path):
        if _digest(folder, name, path) != digest:
            raise TfgenError(f"{path}: was changed while tfgen ran, and is left as it is; run this again")


def _write(folder: int, name: str, data: bytes, *, sync: bool) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    descriptor = os.open(name, _MAKE_FILE, _FILE_MODE, dir_fd=folder)
    try:
        os.fchmod(descriptor, _FILE_MODE)  # past the umask
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _fsync(descriptor: int, path: Path | str) -> None:
    with _errors_at(path):
        os.fsync(descriptor)


def _try_lock(descriptor: int, path: str, kind: int) -> bool:
    with _errors_at(path):
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
