"""An output folder in the index or in a commit of git, which tfgen can only read.

with open_folder(Path("."), CommitTree("v1.4")) as folder:
folder.states(["charts/dist-mnist/Chart.yaml"])
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from tfgen.errors import TfgenError
from tfgen.git.tree import DISK, Tree
from tfgen.tree.output_folder import DiskEntry, OutputFolder


class GitFolder:
    """An output folder in a tree of git. The functions have the results of the functions of `OutputFolder`."""

    def __init__(self, path: Path, tree: Tree) -> None:
        self.path = path
        self._tree = tree

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the block. A tree of git needs no end."""

    def states(self, paths: Iterable[str]) -> dict[str, DiskEntry]:
        """Return the state of each of the given paths, by path."""
        wanted = {path: self.path / path for path in paths}
        contents = self._tree.read_all(wanted.values())
        return {path: self._state(path, whole, contents.get(whole)) for path, whole in wanted.items()}

    def _state(self, path: str, whole: Path, content: bytes | None) -> DiskEntry:
        if content is not None:
            unix = content.replace(b"\r\n", b"\n")
            return DiskEntry(_digest(content), None, _digest(unix) if unix != content else None)
        kind = self._tree.kind(whole)
        return DiskEntry(obstacle=f"{path} is a {kind}, where tfgen needs a file") if kind else DiskEntry()

    def names(self, folder: str) -> list[str]:
        """Return the sorted names of the files of a folder; empty for a missing folder."""
        return self._tree.names(self.path / folder)

    def temporary_files(self, folder: str) -> list[str]:
        """Return an empty list, because git contains no temporary file."""
        del folder
        return []

    def read_text(self, path: str, limit: int = -1) -> str:
        """Return the text of a file, or the first `limit` characters. U+FFFD replaces bytes that are not UTF-8.

        Raises:
            TfgenError: the file does not exist.
        """
        content = self._tree.read(self.path / path)
        if content is None:
            raise TfgenError(f"{path}: {self._tree.title} has no such file")
        return content.decode("utf-8", "replace")[: limit if limit >= 0 else None]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


ReadableFolder: TypeAlias = OutputFolder | GitFolder
"""An output folder on disk or in git, with the functions that read files."""


def open_folder(out: Path, tree: Tree) -> ReadableFolder:
    """Return the output folder `out` in a version of its repository. The folder is open inside a `with` block."""
    return OutputFolder(out) if tree is DISK else GitFolder(out, tree)
