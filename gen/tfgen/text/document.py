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
"""Maximum number of values in a file. The values to which an alias refers are counted for each alias."""

MAX_DEPTH = 100
MAX_PROBLEMS = 100
"""Maximum number of reported problems of a file. A file with more problems is probably not a job file."""

START = Position(1, 1)
"""Position of a problem that concerns a whole file."""


class SourceTree(NamedTuple):
    """The position of a value in the text, and the positions of its keys and items."""

    position: Position
    text: str | None
    """The text of a scalar in the file; None for a mapping or a list."""
    children: Mapping[str | int, tuple[Position, SourceTree]]
    """The position of a key or item, and the source tree of its value, by key or index."""
    size: int
    """Number of values inside this value, including itself. An alias adds this number to the size of the file."""
    height: int = 1
    """Depth of the nesting: 1 for a scalar."""


class Document(Record):
    """A YAML document: plain data, and the position of each part.

    Attributes:
        file: the file name for problems.
        data: the data of the document, merged over the data of `under`.
        root: the source tree of the document without `under`.
        under: the document with the defaults: the nearest layer for a job, and the parent layer for a layer.
        unmerged: the data before the merge, if `under` is not None.
        directives: the comments of the file with instructions to tfgen, such as `# tfgen: ignore latest-tag`.
    """

    file: str
    data: Any
    root: SourceTree
    under: Document | None = None
    unmerged: Any = None
    directives: tuple[Directive, ...] = ()

    @classmethod
    def without_places(cls, file: str, data: Any) -> Document:
        """Return a document in which each value has the position of the start of the file."""
        return cls(file, data, SourceTree(START, None, {}, 1))

    def alone(self) -> Document:
        """Return the document without the defaults of the layers."""
        return self if self.under is None else self.replaced(data=self.unmerged, under=None, unmerged=None)

    def layers(self) -> Iterator[Document]:
        """Yield the document and its layers, the nearest first, each without the defaults of the following ones."""
        yield self.alone()
        if self.under is not None:
            yield from self.under.layers()

    def source(self, path: Path) -> str:
        """Return the file that sets the value at a path, or the nearest ancestor of the value."""
        return self._layer(path).file

    def place(self, path: Path) -> Place:
        """Return the place of a problem at a path: the value if it is a scalar, or the key of a mapping or list.

        If the path does not exist, return the place of its nearest ancestor.
        """
        return Place(self.source(path), self.key(path) if self.text(path) is None else self.value(path))

    def key(self, path: Path) -> Position:
        """Return the position of the key or the list item at a path, or of its nearest ancestor."""
        return self._layer(path)._nearest(path)[0]

    def value(self, path: Path) -> Position:
        """Return the position of the value at a path, or of its nearest ancestor."""
        return self._layer(path)._nearest(path)[1].position

    def text(self, path: Path) -> str | None:
        """Return the text of the scalar at a path (`1.10` for the number 1.1); None if the path has no scalar."""
        _, place, depth = self._layer(path)._nearest(path)
        return place.text if depth == len(path) else None

    def _layer(self, path: Path) -> Document:
        """Return the document or layer that sets the longest part of a path; the nearest of several such layers."""
        if self.under is None:
            return self
        lower = self.under._layer(path)
        return self if self._nearest(path)[2] >= lower._nearest(path)[2] else lower

    def _nearest(self, path: Path) -> tuple[Position, SourceTree, int]:
        """Return the last key and value on a path that this document sets without its layers, and the steps to it."""
        key, place = self.root.position, self.root
        for taken, step in enumerate(path):
            if step not in place.children:
                return key, place, taken
            key, place = place.children[step]
        return key, place, len(path)


class Parsed(Record):
    """The documents of a text, in order, and the problems of the text.

    In a text with problems, an invalid number or key is replaced by its text, and an invalid alias by null. The part
    after a syntax error is missing.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
