"""Values that wait on disk until they are wanted, so that few of them are in memory at once.

    with Spool(Path(".")) as spool:
        values = Spooled(spool.put(render(document)) for document in documents)
        len(values), values[0]

The file has no name, and is on the disk of the output folder if that takes one: the system frees it with the last
process that has it open, whatever ends that. Processes that are forked within the block write to it, too, and hand over
a `Slot` for each value.
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
    """Where a value is, for all processes that have the spool open.

    Attributes:
        file: the descriptor.
        start: its first byte.
        length: its bytes.
    """

    file: int
    start: int
    length: int

    def read(self) -> Any:
        """The value."""
        import pickle  # 2 ms, for who writes no file

        return pickle.loads(os.pread(self.file, self.length, self.start))  # noqa: S301  # our own


class Held(NamedTuple):
    """A value that waits in memory."""

    value: Any

    def read(self) -> Any:
        """The value."""
        return self.value


Put: TypeAlias = Callable[[object], Slot | Held]
"""Takes a value of which there may be many, and gives where it waits: in a spool, or in memory."""


class Spooled(Sequence[_Value], Generic[_Value]):
    """Values that wait: each is read where it is asked for, in a spool anew each time."""

    def __init__(self, slots: Iterable[Slot | Held]) -> None:
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
    """Texts by path that are in a spool all together; the paths are in memory."""

    def __init__(self, texts: dict[str, str], spool: Spool) -> None:
        self._paths = tuple(texts)
        self._slot = spool.put(texts)
        self._changed: dict[str, str] = {}

    def with_text(self, path: str, text: str) -> SpooledTexts:
        """The same with another text at a path that it has; that one is in memory."""
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
    """The texts that were asked for last, since one is asked for after the other."""
    texts: Mapping[str, str] = slot.read()
    return texts


class Spool:
    """The file of some values. As a context manager it holds it open.

    Args:
        near: a folder, which need not exist yet, on whose disk the values are to be.
    """

    def __init__(self, near: Path) -> None:
        self._near = near
        self._file = -1

    def __enter__(self) -> Self:
        self._file = _open_nameless(self._near)
        return self

    def __exit__(self, *_: object) -> None:
        _texts.cache_clear()  # another file may have the descriptor next
        os.close(self._file)

    def put(self, value: object) -> Slot:
        """Write a value.

        Raises:
            TfgenError: the disk fails.
        """
        import pickle  # 2 ms, for who writes no file

        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        with errors_at(self._near):
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                start = max(os.fstat(self._file).st_size, 1)  # the first byte is for `give_up`
                written = 0
                while written < len(data):
                    written += os.pwrite(self._file, data[written:], start + written)
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)
        return Slot(self._file, start, len(data))

    def give_up(self) -> None:
        """Note for all processes that nobody will read what is in it."""
        with errors_at(self._near):
            os.pwrite(self._file, b"x", 0)

    def is_given_up(self) -> bool:
        """Whether that was noted."""
        return os.pread(self._file, 1, 0) == b"x"


def _open_nameless(near: Path) -> int:
    """A new file without a name: on the disk of a folder, or where temporary files are, or in memory.

    Raises:
        TfgenError: none takes one.
    """
    above = next(folder for folder in (near, *near.absolute().parents) if folder.is_dir())
    with suppress(OSError):
        return _open_in(above)
    from tempfile import gettempdir  # 10 ms, for who checks or renders over a checkout that is read-only

    with suppress(OSError):
        return _open_in(Path(gettempdir()))
    if sys.platform != "linux":
        raise TfgenError(f"{above}: takes no temporary file, and no other folder for such files does (TMPDIR)")
    return os.memfd_create("tfgen")


def _open_in(folder: Path) -> int:
    if sys.platform == "linux":
        with suppress(OSError):  # not every file system knows it
            return os.open(folder, os.O_TMPFILE | os.O_RDWR, _MODE)  # the folder stays as it is: it may be watched
    path = folder / temporary_name()
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _MODE)
    finally:
        with suppress(FileNotFoundError):
            path.unlink()
