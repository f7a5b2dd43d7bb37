r"""A tree of text files as a value: what tfgen renders, before any disk is touched.

    FileTree({"charts/dist-mnist/Chart.yaml": "apiVersion: v2\n"})

A tree that exists is one that can be written on every file system that git serves: its paths are relative, stay
inside, and none is another's folder or differs from it only in case.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from tfgen.errors import TfgenError
from tfgen.record import EMPTY, Record
from tfgen.tree.disk_file import RESERVED_PREFIX
from tfgen.tree.spool import Spool, SpooledTexts

_LONGEST_NAME = 255
"""Bytes; NAME_MAX of Linux's and macOS' file systems."""
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}(?:/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199})*")
"""What nearly all paths are, and what has no fault: it saves nine tenths of the time."""


class FileTreeError(TfgenError):
    """A tree that cannot be written; the message has a line for each fault."""


class FileTree(Record):
    """Relative POSIX path -> text, by path. Raises FileTreeError for the faults of all paths and texts at once."""

    files: Mapping[str, str]

    def __init__(self, files: Mapping[str, str] = EMPTY) -> None:
        in_order = dict(sorted(files.items()))
        super().__init__(MappingProxyType(in_order))
        candidates = [
            *(fault for path, text in in_order.items() for fault in (path_fault(path), _text_fault(path, text))),
            *_clashes(in_order),
        ]
        if faults := [fault for fault in candidates if fault]:
            raise FileTreeError("\n".join(faults))

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """The SHA-256 of each text, by path."""
        return {path: digest_of(text) for path, text in self.files.items()}

    def with_text(self, path: str, text: str) -> FileTree:
        """The tree with another text at a path that it has."""
        if isinstance(self.files, SpooledTexts):
            return _tree(self.files.with_text(path, text), {**self.digests, path: digest_of(text)})
        return FileTree({**self.files, path: text})

    def spooled(self, spool: Spool) -> FileTree:
        """The tree with its texts in a spool."""
        return _tree(SpooledTexts(dict(self.files), spool), self.digests)

    def __reduce__(self) -> tuple[Callable[..., FileTree], tuple[Any, ...]]:
        """A spool takes it; a read-only mapping cannot be pickled."""
        if isinstance(self.files, SpooledTexts):
            return _tree, (self.files, self.digests)
        return FileTree, (dict(self.files),)

    @classmethod
    def combine(cls, parts: Mapping[str, Mapping[str, str]], shared: Collection[str] = ()) -> FileTree:
        """The files of all parts. Raises FileTreeError if a path is in two, naming both by their keys.

        A shared path may be in several, as long as they say the same of it.
        """
        origin: dict[str, str] = {}
        twice: list[str] = []
        for name, part in parts.items():
            for path in part:
                first = origin.setdefault(path, name)
                if first != name and (path not in shared or parts[first][path] != part[path]):
                    twice.append(f"{path}: written by both {first} and {name}")
        if twice:
            raise FileTreeError("\n".join(twice))
        return cls({path: text for part in parts.values() for path, text in part.items()})


def _tree(files: Mapping[str, str], digests: Mapping[str, str]) -> FileTree:
    """A tree of files that have no faults, whose digests are known."""
    tree = FileTree()
    tree.__dict__.update(files=files, digests=digests)
    return tree


def path_fault(path: str) -> str | None:
    """Why `path` may not be written below an output folder, or None."""
    if _PLAIN_PATH.fullmatch(path):
        return None
    segments = path.split("/")
    if "\\" in path:
        return f"{path!r}: a path has / between its folders, no backslash"
    if path.startswith("/"):
        return f"{path!r}: absolute; paths are relative to the output folder"
    if not path.isprintable():
        return f"{path!r}: has a character that cannot be printed"
    for segment in segments:
        if segment in ("", ".", ".."):
            return f"{path!r}: the segment {segment!r} is not a name"
        if len(segment.encode()) > _LONGEST_NAME:
            return f"{path!r}: a name has more than {_LONGEST_NAME} bytes"
        name = segment.casefold()
        if name == ".git" or name.startswith(RESERVED_PREFIX):
            return f"{path!r}: the name {segment!r} is reserved"
    return None


def ancestors(path: str) -> Iterator[str]:
    """The folders above `path`, nearest last: `a/b/c` gives `a` and `a/b`."""
    end = path.find("/")
    while end != -1:
        yield path[:end]
        end = path.find("/", end + 1)


def digest_of(text: str) -> str:
    """SHA-256 of the text as written (UTF-8), in lower-case hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def _text_fault(path: str, text: str) -> str | None:
    if "\r" in text:
        return f"{path!r}: its text has a carriage return; lines end in LF alone"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"{path!r}: its text has U+{ord(text[error.start]):04X}, which UTF-8 cannot hold"
    return None


def _clashes(paths: Iterable[str]) -> Iterator[str]:
    """Pairs that a disk which ignores case takes for one, and files that are also folders."""
    seen: dict[str, tuple[str, bool, str]] = {}
    passed: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        folders = () if folder in passed else ancestors(path)
        passed.add(folder)
        for entry, is_file in (*((above, False) for above in folders), (path, True)):
            spelling, was_file, other = seen.setdefault(entry.casefold(), (entry, is_file, path))
            if spelling != entry:
                yield f"{other!r} and {path!r} differ only in the case of {spelling!r} and {entry!r}"
            elif was_file != is_file:
                yield f"{other!r} and {path!r}: {entry!r} cannot be both a file and a folder"
