r"""One file on disk, by the descriptor of its folder: no link is followed, and no FIFO is waited for.

    replace_file(Path("job.yaml"), before=b"run: 1\n", after=b"run: 2\n")

This is the one way in which tfgen gives a file a new content: a temporary file beside it, made anew under a random name
(O_EXCL, O_NOFOLLOW), then renamed. So the file is the old or the new one, whole, at any moment, whatever stands in the
folder under whatever name.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tfgen.errors import TfgenError
from tfgen.real_path import real_path

RESERVED_PREFIX = ".tfgen"
"""No rendered file or folder begins so: ledgers live in `.tfgen/`, temporary files are `.tfgen-*.tmp`."""

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a FIFO put there meanwhile must not make tfgen wait
_MAKE_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_TEMPORARY = re.compile(rf"{re.escape(RESERVED_PREFIX)}-[0-9a-f]{{16}}\.tmp")
_CHUNK = 1 << 18


class BlockedPathError(TfgenError):
    """Something in the way that tfgen neither follows nor replaces: a link, a folder for a file, or the reverse."""


def open_folder(name: str, *, within: int | None = None) -> int:
    """A descriptor of a folder that is no link. Raises OSError."""
    return os.open(name, _OPEN_FOLDER, dir_fd=within)


def open_file(folder: int, name: str, path: Path | str) -> int:
    """A descriptor of a file for reading.

    Args:
        folder: the descriptor of its folder.
        name: its name there.
        path: what to call it.

    Raises:
        BlockedPathError: it is no regular file.
        OSError: it cannot be opened.
    """
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not stat.S_ISREG(mode):
        raise BlockedPathError(f"{path} is {describe_mode(mode)}, where tfgen needs a file")
    return os.open(name, _OPEN_FILE, dir_fd=folder)


def read_file(path: Path, most: int = -1) -> bytes:
    """A file's content, through all links; at most so many bytes of it.

    Raises:
        TfgenError: it is no regular file, or the disk fails.
    """
    with errors_at(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise BlockedPathError(f"{path} is {describe_mode(mode)}, where tfgen needs a file")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read(most)
        finally:
            os.close(descriptor)


def read_text(path: Path) -> str:
    """A file's text, with the line ends and the byte order mark that it has.

    Raises:
        TfgenError: it is no regular file, it is not UTF-8, or the disk fails.
    """
    try:
        return read_file(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise TfgenError(f"{path}: is no longer UTF-8: it was changed while tfgen ran") from error


def digest_on_disk(folder: int, name: str, path: Path | str) -> str | None:
    """SHA-256 of a file, None for no file. Raises as `open_file` does."""
    try:
        descriptor = open_file(folder, name, path)
    except FileNotFoundError:
        return None
    try:
        digest = hashlib.sha256()
        while chunk := os.read(descriptor, _CHUNK):
            digest.update(chunk)
        return digest.hexdigest()
    finally:
        os.close(descriptor)


def digests_on_disk(folder: int, name: str, path: Path | str) -> tuple[str | None, str | None]:
    """SHA-256 of a file, and that of it with LF for each CRLF; None for no file, and where it has no CRLF.

    Raises as `open_file` does.
    """
    try:
        descriptor = open_file(folder, name, path)
    except FileNotFoundError:
        return None, None
    try:
        digest, unix_digest, rest, has_any = hashlib.sha256(), hashlib.sha256(), b"", False
        while chunk := os.read(descriptor, _CHUNK):
            digest.update(chunk)
            if not (rest or has_any or b"\r" in chunk):
                unix_digest = digest.copy()
                continue
            chunk = rest + chunk
            rest = b"\r" if chunk.endswith(b"\r") else b""  # its LF may be the next chunk's first byte
            unix = chunk.removesuffix(rest).replace(b"\r\n", b"\n")
            has_any = has_any or len(unix) + len(rest) < len(chunk)
            unix_digest.update(unix)
        unix_digest.update(rest)
        return digest.hexdigest(), unix_digest.hexdigest() if has_any else None
    finally:
        os.close(descriptor)


def expect(folder: int, name: str, path: Path | str, digest: str | None) -> None:
    """See that a file still has its digest (None: that there is none). Raises TfgenError."""
    with errors_at(path):
        if digest_on_disk(folder, name, path) != digest:
            raise TfgenError(f"{path}: was changed while tfgen ran, and is left as it is; run this again")


def temporary_name(random: bytes | None = None) -> str:
    """A name for a temporary file, short enough for every disk. Whoever writes it knows it before.

    Args:
        random: eight bytes that nobody guesses; by default new ones.
    """
    return f"{RESERVED_PREFIX}-{(random or os.urandom(8)).hex()}.tmp"


def write_temporary(folder: int, name: str, data: bytes, mode: int, *, sync: bool) -> None:
    """Writes a new file. Where that fails or is interrupted, a part of it may be there, which the caller removes.

    Args:
        folder: the descriptor of its folder.
        name: a `temporary_name`. The caller knows it before the file is there, so no interrupt comes in between.
        data: its content.
        mode: its permissions, past the umask.
        sync: whether the content is to be on the medium.

    Raises:
        OSError: the disk fails.
    """
    descriptor = os.open(name, _MAKE_FILE, mode, dir_fd=folder)
    try:
        os.fchmod(descriptor, mode)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_temporary(name: str) -> bool:
    """Whether a file of this name is one of tfgen's temporary files."""
    return _TEMPORARY.fullmatch(name) is not None


def replace_file(path: Path, before: bytes, after: bytes) -> None:
    """Gives a file a new content, whole or not at all. A link stays one, and what it leads to has the content.

    Args:
        path: the file.
        before: what it is to hold still.
        after: what it holds then; its permissions stay.

    Raises:
        TfgenError: it holds something else by now, it is no regular file, or the disk fails; it stays as it is.
    """
    target = real_path(path)
    with errors_at(path):
        folder = open_folder(str(target.parent))
        try:
            expect(folder, target.name, path, hashlib.sha256(before).hexdigest())
            mode = stat.S_IMODE(os.stat(target.name, dir_fd=folder, follow_symlinks=False).st_mode)
            temporary = temporary_name()
            try:
                write_temporary(folder, temporary, after, mode, sync=True)
                os.replace(temporary, target.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            os.fsync(folder)
        finally:
            os.close(folder)


def replace_text(path: Path, before: str, after: str) -> None:
    """The same of a text. Raises as `replace_file` does."""
    replace_file(path, before.encode(), after.encode())


@contextmanager
def errors_at(path: Path | str, *, but: type[OSError] | tuple[()] = ()) -> Iterator[None]:
    """Turns an OSError into a TfgenError that names the path; `but` lets one kind through."""
    try:
        yield
    except but:
        raise
    except OSError as error:
        raise TfgenError(f"{path}: {error.strerror or error}") from error


def describe_mode(mode: int) -> str:
    """What a thing on disk is, by its mode."""
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a file" if stat.S_ISREG(mode) else "a device, pipe or socket"
