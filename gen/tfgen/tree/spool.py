"""Store many values in a temporary file on disk, so that only a few values are in memory at the same time.

    with Spool(Path(".")) as spool:
        values = Spooled(spool.store(render(document)) for document in documents)
        len(values), values[0]

The temporary file has no name. If possible, the file is on the disk of the output folder. The system deletes the file
when the last process closes it.

A process that is forked within the `with` block writes to the same file. Such a process stores its values, and returns
to the main process only a `Slot`, the position of a value in the file.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, Self, TypeAlias, TypeVar, overload

from tfgen.disk_file import errors_at, temporary_name
from tfgen.errors import TfgenError

_Value = TypeVar("_Value")

_MODE: Final = 0o600


class Slot(NamedTuple):
    """The position of a value in the temporary file of a spool. Forked processes can read the value as well.

    Attributes:
        file: the descriptor of the spool's file.
        start: the offset of the first byte of the value.
        length: the number of bytes of the value.
    """

    file: int
    start: int
    length: int

    def read(self) -> Any:
        """Read the value from the spool's file, and return the value."""
        import pickle  # the import takes 2 ms, and most commands do not need it

        return pickle.loads(os.pread(self.file, self.length, self.start))  # noqa: S301  # tfgen wrote the content


class InMemory(NamedTuple):
    """A value in memory. The class has the same interface as `Slot`, the position of a value on disk."""

    value: Any

    def read(self) -> Any:
        """Return the value."""
        return self.value


Store: TypeAlias = Callable[[object], Slot | InMemory]
"""Function that stores a value in a spool or in memory. The method `read` of the result returns the value."""


class Spooled(Sequence[_Value], Generic[_Value]):
    """A sequence of stored values. Each access reads the value again."""

    def __init__(self, slots: Iterable[Slot | InMemory]) -> None:
        self._slots = tuple(slots)

    def __len__(self) -> int:
        return len(self._slots)

    @overload
    def __getitem__(self, at: int) -> _Value: ...
    @overload
    def __getitem__(self, at: slice) -> Spooled[_Value]: ...
    def __getitem__(self, at: int | slice) -> _Value | Spooled[_Value]:
        if isinstance(at, slice):
            return Spooled(self._slots[at])
        value: _Value = self._slots[at].read()
        return value

    def __iter__(self) -> Iterator[_Value]:
        return (slot.read() for slot in self._slots)


class SpooledTexts(Mapping[str, str]):
    """The texts of files, as a mapping by path. Only the paths are in memory. The texts are in the file of a spool."""

    def __init__(self, texts: dict[str, str], spool: Spool) -> None:
        self._paths = tuple(texts)
        self._slot = spool.store(texts)
        self._changed: dict[str, str] = {}

    def with_text(self, path: str, text: str) -> SpooledTexts:
        """Return a copy of the mapping with a new text for an existing path. Only the new text is in memory."""
        changed = copy(self)
        changed._changed = {**self._changed, path: text}
        return changed

    def __len__(self) -> int:
        return len(self._paths)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __contains__(self, path: object) -> bool:
        return path in self._paths

    def __getitem__(self, path: str) -> str:
        return self._changed[path] if path in self._changed else _texts(self._slot)[path]


@lru_cache(maxsize=1)
def _texts(slot: Slot) -> Mapping[str, str]:
    """Read the texts that are stored at one position of a spool, as a mapping by path.

    tfgen caches the last mapping, because a caller usually reads all texts of a mapping in a row.
    """
    texts: Mapping[str, str] = slot.read()
    return texts


class Spool:
    """A temporary file that stores values. The context manager opens and closes the file.

    Args:
        near: a folder. If possible, tfgen creates the file on the same disk. The folder need not exist yet.
    """

    def __init__(self, near: Path) -> None:
        self._near = near
        self._file = -1

    def __enter__(self) -> Self:
        self._file = _open_nameless(self._near)
        return self

    def __exit__(self, *_: object) -> None:
        _texts.cache_clear()  # a new file may receive the same descriptor
        os.close(self._file)

    def store(self, value: object) -> Slot:
        """Append a value to the temporary file, and return the position of the value.

        Raises:
            TfgenError: the disk fails.
        """
        import pickle  # the import takes 2 ms, and most commands do not need it

        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        with errors_at(self._near):
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                start = max(os.fstat(self._file).st_size, 1)  # `give_up` uses the first byte
                written = 0
                while written < len(data):
                    written += os.pwrite(self._file, data[written:], start + written)
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)
        return Slot(self._file, start, len(data))

    def give_up(self) -> None:
        """Mark the values as no longer needed, for all processes that share the spool."""
        with errors_at(self._near):
            os.pwrite(self._file, b"x", 0)

    def is_given_up(self) -> bool:
        """Return whether a process that shares the spool has called `give_up`."""
        return os.pread(self._file, 1, 0) == b"x"


def _open_nameless(near: Path) -> int:
    """Create a file without a name, to store values on disk. If no disk accepts the file, the file is in memory.

    tfgen first tries the disk of the folder `near`, and then the system's folder for temporary files.

    Raises:
        TfgenError: no folder accepts a temporary file.
    """
    existing = next(folder for folder in (near, *near.absolute().parents) if folder.is_dir())
    with suppress(OSError):
        return _open_in(existing)
    from tempfile import gettempdir  # the import takes 10 ms; only a read-only checkout needs it

    with suppress(OSError):
        return _open_in(Path(gettempdir()))
    if sys.platform != "linux":
        raise TfgenError(
            f"{existing}: cannot create a temporary file, neither in this folder nor in the folder for temporary "
            "files; set TMPDIR to a writable folder"
        )
    return os.memfd_create("tfgen")


def _open_in(folder: Path) -> int:
    if sys.platform == "linux":
        with suppress(OSError):  # some file systems do not support O_TMPFILE
            return os.open(folder, os.O_TMPFILE | os.O_RDWR, _MODE)  # leaves the folder unchanged for its watchers
    path = folder / temporary_name()
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _MODE)
    finally:
        with suppress(FileNotFoundError):
            path.unlink()
