"""Values in a temporary file on disk, so that only a few of them are in memory at once.

    with Spool(Path(".")) as spool:
        values = Spooled(spool.store(render(document)) for document in documents)
        len(values), values[0]

The file has no name. It is on the disk of the output folder, if that disk allows such files. The system frees the file
when the last process that has it open ends. Processes that are forked within the block write to the same file, and
return a `Slot` for each value.
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

from tfgen.errors import TfgenError
from tfgen.tree.disk_file import errors_at, temporary_name

_Value = TypeVar("_Value")

_MODE: Final = 0o600


class Slot(NamedTuple):
    """The place of a value in the spool. All processes that have the spool open can read it.

    Attributes:
        file: the descriptor of the spool.
        start: the offset of the first byte.
        length: the number of bytes.
    """

    file: int
    start: int
    length: int

    def read(self) -> Any:
        """Return the value."""
        import pickle  # the import takes 2 ms, and most commands do not need it

        return pickle.loads(os.pread(self.file, self.length, self.start))  # noqa: S301  # tfgen wrote the content


class InMemory(NamedTuple):
    """A value in memory, in place of a slot."""

    value: Any

    def read(self) -> Any:
        """Return the value."""
        return self.value


Store: TypeAlias = Callable[[object], Slot | InMemory]
"""Stores a value in a spool or in memory, and returns its place."""


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
    """Texts by path. One slot of a spool has all texts; the paths are in memory."""

    def __init__(self, texts: dict[str, str], spool: Spool) -> None:
        self._paths = tuple(texts)
        self._slot = spool.store(texts)
        self._changed: dict[str, str] = {}

    def with_text(self, path: str, text: str) -> SpooledTexts:
        """Return the texts with a new text at an existing path. The new text is in memory."""
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
    """Return the texts of a slot. The last slot is cached, because a reader takes its texts one after the other."""
    texts: Mapping[str, str] = slot.read()
    return texts


class Spool:
    """A temporary file of values. The context manager keeps the file open.

    Args:
        near: a folder on the disk that receives the values. The folder may not exist yet.
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
        """Write a value and return its place.

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
        """Mark the spool for all processes: nobody will read its values."""
        with errors_at(self._near):
            os.pwrite(self._file, b"x", 0)

    def is_given_up(self) -> bool:
        """Return whether `give_up` marked the spool."""
        return os.pread(self._file, 1, 0) == b"x"


def _open_nameless(near: Path) -> int:
    """Open a new file without a name: on the disk of a folder, in the folder for temporary files, or in memory.

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
            f"{existing}: cannot create a temporary file here or in another temporary folder; "
            "set TMPDIR to a writable folder"
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
