"""The data of a YAML document, with the line and column of each key and value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfgen.data_path import Path
from tfgen.problems import Place, Position, Problem
from tfgen.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tfgen.text.comments import Directive


MAX_SIZE = 50_000
"""Maximum number of values in a file. An alias counts like a copy of the value that the alias refers to."""

MAX_DEPTH = 100
TOO_DEEP_MESSAGE = f"this value is nested more than {MAX_DEPTH} levels deep"
MAX_PROBLEMS = 100
"""Maximum number of problems that tfgen reports for a file. A file with more problems is probably not a job file."""

START = Position(1, 1)
"""Position of a problem that concerns a whole file: the start of the file."""


class SourceTree(NamedTuple):
    """The position of a value in the text. For a mapping or a list, also the positions of its keys or items."""

    position: Position
    text: str | None
    """The text of a scalar in the file; None for a mapping or a list."""
    children: Mapping[str | int, tuple[Position, SourceTree]]
    """The position of each key or list item, and the source tree of its value, by key or index."""
    size: int
    """Number of values in this value, including the value itself. An alias of this value counts as the same number."""
    height: int = 1
    """Number of nested levels in the value: 1 for a scalar."""


class Document(Record):
    """A YAML document: plain data, and the position of each key and value.

    A layer is a `tfgen.yaml` file with defaults for the jobs below its folder.

    Attributes:
        file: the file name for problems.
        data: the data of the document. If `under` is not None, this data is merged over the data of `under`.
        root: the positions in the file of this document, without `under`.
        under: the layer whose defaults the document inherits: the nearest layer of a job, or the parent layer of a
            layer; None without a layer.
        unmerged: the data before the merge with `under`; None if `under` is None.
        directives: the comments of the file that give instructions to tfgen, such as `# tfgen: ignore latest-tag`.
    """

    file: str
    data: Any
    root: SourceTree
    under: Document | None = None
    unmerged: Any = None
    directives: tuple[Directive, ...] = ()

    @classmethod
    def without_places(cls, file: str, data: Any) -> Document:
        """Return a document whose positions are unknown. Each value has the position of the start of the file."""
        return cls(file, data, SourceTree(START, None, {}, 1))

    def alone(self) -> Document:
        """Return the document without the defaults of the layers."""
        return self if self.under is None else self.replaced(data=self.unmerged, under=None, unmerged=None)

    def layers(self) -> Iterator[Document]:
        """Yield the document and then its layers, the nearest layer first. Each has only the data of its own file."""
        yield self.alone()
        if self.under is not None:
            yield from self.under.layers()

    def source(self, path: Path) -> str:
        """Return the file that sets the value at a path. For a missing value, use the nearest parent that exists."""
        return self._layer(path).file

    def place(self, path: Path) -> Place:
        """Return the file and position of a problem with the value at a path.

        For a scalar, the position is that of the value. For a mapping or a list, the position is that of the key. If
        the path does not exist, the position is that of the nearest parent that exists.
        """
        return Place(self.source(path), self.key(path) if self.text(path) is None else self.value(path))

    def key(self, path: Path) -> Position:
        """Return the position of the key or list item at a path. If the path is missing, use the nearest parent."""
        return self._layer(path)._nearest(path)[0]

    def value(self, path: Path) -> Position:
        """Return the position of the value at a path. If the path is missing, use the nearest parent that exists."""
        return self._layer(path)._nearest(path)[1].position

    def text(self, path: Path) -> str | None:
        """Return the scalar at a path in the notation of the file, such as `1.10` for 1.1; None without a scalar."""
        _, place, depth = self._layer(path)._nearest(path)
        return place.text if depth == len(path) else None

    def _layer(self, path: Path) -> Document:
        """Return the document or the layer that contains the path, or at least the longest beginning of the path.

        If several contain an equally long beginning, prefer the document, and then the nearest layer.
        """
        if self.under is None:
            return self
        lower = self.under._layer(path)
        return self if self._nearest(path)[2] >= lower._nearest(path)[2] else lower

    def _nearest(self, path: Path) -> tuple[Position, SourceTree, int]:
        """Find the longest beginning of a path that exists in the document. Layers do not count.

        Return the position of the last existing key, the positions in the value of this key, and the number of existing
        steps of the path.
        """
        key, place = self.root.position, self.root
        for taken, step in enumerate(path):
            if step not in place.children:
                return key, place, taken
            key, place = place.children[step]
        return key, place, len(path)


class Parsed(Record):
    """The documents of a text, in order, and the problems of the text.

    If the text has problems, the data is incomplete. An invalid number or key is replaced by its text, and an invalid
    alias is replaced by null. The documents do not contain the text after a syntax error.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
