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
"""Values in a file, those that an alias stands for counted each time."""

MAX_DEPTH = 100
MAX_PROBLEMS = 100
"""The first ones of a file; who has more has another file in mind."""

START = Position(1, 1)
"""Of a problem with a whole file."""


class SourceTree(NamedTuple):
    """The position of a value, and those of its parts."""

    position: Position
    text: str | None
    """A scalar as it was written; None for a mapping or a list."""
    children: Mapping[str | int, tuple[Position, SourceTree]]
    """By key or index: where the key (or item) stands, and the place of its value."""
    size: int
    """What an alias to it adds to `MAX_SIZE`."""
    height: int = 1
    """Levels in it: 1 for a scalar."""


class Document(Record):
    """One YAML document: plain data, and the place of each part of it.

    Attributes:
        file: the name that its problems carry.
        data: what it says, over what the document under it says.
        root: the place of what it says itself.
        under: a document that says what this one does not, at the same paths: the defaults under a job, and under
            those the ones of the folder above.
        own: what it says itself, where something is under it.
        directives: the comments of its file that speak to tfgen.
    """

    file: str
    data: Any
    root: SourceTree
    under: Document | None = None
    own: Any = None
    directives: tuple[Directive, ...] = ()

    @classmethod
    def without_places(cls, file: str, data: Any) -> Document:
        """A document of which nobody will ask where anything is said: all of it is at its start."""
        return cls(file, data, SourceTree(START, None, {}, 1))

    def alone(self) -> Document:
        """The document without what is under it."""
        return self if self.under is None else self.replaced(data=self.own, under=None, own=None)

    def layers(self) -> Iterator[Document]:
        """The document and all that are under it, the uppermost first, each with what it says itself."""
        yield self.alone()
        if self.under is not None:
            yield from self.under.layers()

    def source(self, path: Path) -> str:
        """The file in which the path, or its nearest ancestor, is said."""
        return self._layer(path).file

    def place(self, path: Path) -> Place:
        """Where a problem with the path is: at a scalar itself, at the key of anything else.

        A path that is not there has the place of its nearest ancestor.
        """
        return Place(self.source(path), self.key(path) if self.text(path) is None else self.value(path))

    def key(self, path: Path) -> Position:
        """Where the key (or the list item) at the path stands; for what is not there, its nearest ancestor's."""
        return self._layer(path)._nearest(path)[0]

    def value(self, path: Path) -> Position:
        """Where the value at the path begins; for what is not there, its nearest ancestor's."""
        return self._layer(path)._nearest(path)[1].position

    def text(self, path: Path) -> str | None:
        """The scalar at the path as it was written (`1.10`, where the data says 1.1); None where there is none."""
        _, place, depth = self._layer(path)._nearest(path)
        return place.text if depth == len(path) else None

    def _layer(self, path: Path) -> Document:
        """The one that says most of the path: of several, the uppermost."""
        if self.under is None:
            return self
        below = self.under._layer(path)
        return self if self._nearest(path)[2] >= below._nearest(path)[2] else below

    def _nearest(self, path: Path) -> tuple[Position, SourceTree, int]:
        """The last key and value on the way that this document says itself, and how many steps of it there are."""
        key, place = self.root.position, self.root
        for taken, step in enumerate(path):
            if step not in place.children:
                return key, place, taken
            key, place = place.children[step]
        return key, place, len(path)


class Parsed(Record):
    """The documents of a text, in order, and what is wrong with it.

    Where there are problems, a refused number or key reads as its text, a refused alias as null, and what stands
    after a syntax error is missing.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
