r"""Safe functions to read a file, and to replace the content of a file.

    replace_file(Path("job.yaml"), before=b"run: 1\n", after=b"run: 2\n")

tfgen replaces the content of a file only with this module. tfgen first writes the new content to a temporary file in
the same folder, and then renames the temporary file. So at any moment the file has either the complete old content or
the complete new content. The temporary file has a random name and is created with O_EXCL and O_NOFOLLOW.

No function waits for another process that writes to a FIFO.

The module also resolves the symbolic links above the root of a repository.
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

RESERVED_PREFIX = ".tfgen"
"""Prefix of names that only tfgen uses: ledgers are in `.tfgen/`, and temporary files have the name `.tfgen-*.tmp`.

No rendered file may have this prefix.
"""

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # otherwise tfgen would wait for the writer of a FIFO
_MAKE_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_TEMPORARY = re.compile(rf"{re.escape(RESERVED_PREFIX)}-[0-9a-f]{{16}}\.tmp")


class BlockedPathError(TfgenError):
    """Error for a path at which tfgen needs a file or folder, but finds a symbolic link or something else."""


def open_folder(name: str, *, within: int | None = None) -> int:
    """Open a folder and return its descriptor.

    Args:
        name: the path of the folder.
        within: the descriptor of the folder to which `name` is relative; None for the working directory.

    Raises:
        OSError: the path is a symbolic link, or the disk fails.
    """
    return os.open(name, _OPEN_FOLDER, dir_fd=within)


def open_file(folder: int, name: str, path: Path | str) -> int:
    """Open a file for reading and return its descriptor.

    Args:
        folder: the descriptor of the file's folder.
        name: the name of the file in the folder.
        path: the path for error messages.

    Raises:
        BlockedPathError: the path is not a regular file.
        OSError: the file cannot be opened.
    """
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not stat.S_ISREG(mode):
        raise BlockedPathError(f"{path} is {describe_mode(mode)}, where tfgen needs a file")
    return os.open(name, _OPEN_FILE, dir_fd=folder)


def read_file(path: Path, most: int = -1) -> bytes:
    """Return the content of a file, or only the first `most` bytes of the content. The function follows links.

    Raises:
        TfgenError: the path is not a regular file, or the disk fails.
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
    """Return the text of a UTF-8 file. Line endings and a byte order mark remain unchanged.

    Raises:
        TfgenError: the path is not a regular file, the content is not UTF-8, or the disk fails.
    """
    try:
        return read_file(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise TfgenError(f"{path}: the file is not UTF-8 text; save it as UTF-8, and run the command again") from error


def digests_of(content: bytes) -> tuple[str, str | None]:
    """Return two digests of a file: of the content, and of the content with LF in place of each CRLF.

    The digests are SHA-256. The second digest is None for a file without CRLF.
    """
    unix = content.replace(b"\r\n", b"\n") if b"\r\n" in content else None
    return hashlib.sha256(content).hexdigest(), None if unix is None else hashlib.sha256(unix).hexdigest()


def digests_on_disk(folder: int, name: str, path: Path | str) -> tuple[str | None, str | None]:
    """Return the digests of a file as `digests_of`; (None, None) if the file does not exist.

    The arguments and the errors are the same as those of `open_file`.
    """
    try:
        descriptor = open_file(folder, name, path)
    except FileNotFoundError:
        return None, None
    with os.fdopen(descriptor, "rb") as file:
        return digests_of(file.read())


def check_digest(folder: int, name: str, path: Path | str, digest: str | None) -> None:
    """Raise TfgenError if a file does not have the SHA-256 `digest`. If `digest` is None, the file must not exist.

    The other arguments are the same as those of `open_file`.
    """
    with errors_at(path):
        if digests_on_disk(folder, name, path)[0] != digest:
            raise TfgenError(
                f"{path}: another program changed the file while tfgen ran; tfgen kept the change; "
                "run the command again"
            )


def temporary_name() -> str:
    """Return a new name of a temporary file that nobody can guess, such as `.tfgen-5f70bf18a0c9d1e2.tmp`."""
    return f"{RESERVED_PREFIX}-{os.urandom(8).hex()}.tmp"


def write_temporary(folder: int, name: str, data: bytes, mode: int, *, sync: bool) -> None:
    """Write a new temporary file. After a failure or an interrupt, the caller must remove the partial file.

    Args:
        folder: the descriptor of the folder.
        name: a result of `temporary_name`. With this name, the caller can remove the file after an interrupt.
        data: the content.
        mode: the permissions of the file; the umask does not apply.
        sync: whether to call fsync for the file.

    Raises:
        OSError: the disk fails.
    """
    descriptor = os.open(name, _MAKE_FILE, mode, dir_fd=folder)
    try:
        os.fchmod(descriptor, mode)
        unwritten = memoryview(data)
        while unwritten:
            unwritten = unwritten[os.write(descriptor, unwritten) :]
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_temporary(name: str) -> bool:
    """Return whether a name is the name of a temporary file of tfgen."""
    return _TEMPORARY.fullmatch(name) is not None


def replace_file(path: Path, before: bytes, after: bytes) -> None:
    """Replace the content of a file atomically. A symbolic link remains a link, and its target gets the new content.

    Args:
        path: the file.
        before: the content that the file must still have.
        after: the new content. The permissions remain unchanged.

    Raises:
        TfgenError: the content has changed, the path is not a regular file, or the disk fails. The file is unchanged.
    """
    target = real_path(path)
    with errors_at(path):
        folder = open_folder(str(target.parent))
        try:
            check_digest(folder, target.name, path, hashlib.sha256(before).hexdigest())
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
    """Replace the text of a file atomically. Raises the errors of `replace_file`."""
    replace_file(path, before.encode(), after.encode())


@contextmanager
def errors_at(path: Path | str, *, but: type[OSError] | tuple[()] = ()) -> Iterator[None]:
    """Convert each OSError in the block to a TfgenError that names the path. Errors of type `but` remain unchanged."""
    try:
        yield
    except but:
        raise
    except OSError as error:
        raise TfgenError(f"{path}: {error.strerror or error}") from error


def describe_mode(mode: int) -> str:
    """Describe a file mode in words, such as "a symbolic link"."""
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a file" if stat.S_ISREG(mode) else "a device, pipe or socket"


# -- paths without symbolic links --------------------------------------------------------------------------------------


def real_path(path: Path) -> Path:
    """Resolve all symbolic links of a path. Unlike `Path.resolve`, raise no RuntimeError for a cycle of links.

    A link in a cycle stays unresolved, and an attempt to open the path raises an OSError. `Path.resolve` raises the
    RuntimeError in Python before 3.13.
    """
    return Path(os.path.realpath(path))


def repository_root(folder: Path) -> Path | None:
    """Return the root of the repository that contains a folder, by the written path; None outside of git.

    In a worktree or a submodule, `.git` is a file.
    """
    whole = Path(os.path.abspath(folder))  # noqa: PTH100 - `Path.absolute` keeps ".."
    return next((candidate for candidate in (whole, *whole.parents) if (candidate / ".git").exists()), None)


def whole_path(path: Path) -> Path:
    """Return the absolute path. Only the symbolic links above the root of the repository are resolved.

    A link below the root may point to a file that nobody reviews, so a tfgen.yaml beside its target must not apply to
    a job. For a path outside of git, all links are resolved.
    """
    written = Path(os.path.abspath(path))  # noqa: PTH100 - `Path.absolute` keeps ".."
    root = repository_root(written.parent)
    return real_path(written) if root is None else real_path(root) / written.relative_to(root)
