r"""A tree of text files in memory: the result of a render, before tfgen writes to the disk.

    FileTree({"charts/dist-mnist/Chart.yaml": "apiVersion: v2\n"})

A valid tree can be written on every file system that git supports: all paths are relative and remain below the root,
no path is the folder of another path, and no two paths differ only in case.
"""

from __future__ import annotations

import hashlib
import re
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property

from tfgen.disk_file import RESERVED_PREFIX
from tfgen.errors import TfgenError
from tfgen.record import EMPTY, Record

_LONGEST_NAME = 255
"""Maximum length of a file name in bytes: NAME_MAX of the file systems of Linux and macOS."""
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}(?:/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199})*")
"""Pattern for a quick check of a path. Nearly all valid paths match. The full check takes ten times as long."""


class FileTreeError(TfgenError):
    """Error for a tree of files with invalid paths or texts. The message has one line for each fault."""


class FileTree(Record):
    """A tree of files in memory. The texts of the files are in a mapping by relative POSIX path.

    The constructor raises FileTreeError, which lists all invalid paths and texts.
    """

    files: Mapping[str, str]

    def __init__(self, files: Mapping[str, str] = EMPTY) -> None:
        in_order = dict(sorted(files.items()))
        super().__init__(in_order)
        found = [fault for path, text in in_order.items() for fault in (path_fault(path), _text_fault(path, text))]
        if faults := [*filter(None, found), *_clashes(in_order)]:
            raise FileTreeError("\n".join(faults))

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """The SHA-256 of the text of each file, by path."""
        return {path: digest_of(text) for path, text in self.files.items()}

    def with_text(self, path: str, text: str) -> FileTree:
        """Return a copy of the tree in which the file at an existing path has a new text."""
        files = ChainMap({path: text}, self.files)  # type: ignore[arg-type]  # nobody changes the second mapping
        return checked_tree(files, {**self.digests, path: digest_of(text)})

    @classmethod
    def combine(cls, parts: Mapping[str, Mapping[str, str]], shared: Collection[str] = ()) -> FileTree:
        """Return a tree with the files of several parts, such as the charts of two jobs.

        Args:
            parts: the texts of the files, by name of the part and then by path. Error messages contain the names of the
                parts. Example: {"job mnist": {"charts/mnist/Chart.yaml": "apiVersion: v2 ..."}}.
            shared: the paths that several parts may have, if the files have equal texts.

        Raises:
            FileTreeError: two parts have the same path.
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


def checked_tree(files: Mapping[str, str], digests: Mapping[str, str]) -> FileTree:
    """Return a tree of files that the caller has checked. `digests` has the SHA-256 of each text, by path."""
    tree = FileTree()
    tree.__dict__.update(files=files, digests=digests)
    return tree


def path_fault(path: str) -> str | None:
    """Return an error message if a path below an output folder is invalid; None if the path is valid."""
    if _PLAIN_PATH.fullmatch(path):
        return None
    segments = path.split("/")
    if "\\" in path:
        return f"{path!r}: contains a backslash; separate folders by /"
    if path.startswith("/"):
        return f"{path!r}: is absolute; use a path relative to the output folder"
    if not path.isprintable():
        return f"{path!r}: contains an unprintable character"
    for segment in segments:
        if segment in ("", ".", ".."):
            return f"{path!r}: the segment {segment!r} is not a name"
        if len(segment.encode()) > _LONGEST_NAME:
            return f"{path!r}: a file name exceeds {_LONGEST_NAME} bytes"
        name = segment.casefold()
        if name == ".git" or name.startswith(RESERVED_PREFIX):
            return f"{path!r}: the name {segment!r} is reserved"
    return None


def ancestors(path: str) -> Iterator[str]:
    """Yield the parent folders of a path, the topmost first. Example: for `a/b/c`, yield `a` and then `a/b`."""
    end = path.find("/")
    while end != -1:
        yield path[:end]
        end = path.find("/", end + 1)


def digest_of(text: str) -> str:
    """Return the SHA-256 of the UTF-8 text, in lower-case hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def _text_fault(path: str, text: str) -> str | None:
    if "\r" in text:
        return f"{path!r}: the text contains a carriage return; end lines with LF only"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"{path!r}: the text contains U+{ord(text[error.start]):04X}, which UTF-8 cannot encode"
    return None


def _clashes(paths: Iterable[str]) -> Iterator[str]:
    """Yield error messages for the paths that conflict with an earlier path.

    Two paths conflict if the paths, or parent folders of the paths, differ only in case. Two paths also conflict if one
    path is a parent folder of the other path.
    """
    first_entries: dict[str, tuple[str, bool, str]] = {}
    passed: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        folders = () if folder in passed else ancestors(path)
        passed.add(folder)
        for entry, is_file in (*((folder_above, False) for folder_above in folders), (path, True)):
            spelling, was_file, first_path = first_entries.setdefault(entry.casefold(), (entry, is_file, path))
            if spelling != entry:
                yield f"{first_path!r} and {path!r} differ only in the case of {spelling!r} and {entry!r}"
            elif was_file != is_file:
                yield f"{first_path!r} and {path!r}: {entry!r} cannot be both a file and a folder"
