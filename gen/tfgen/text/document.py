r"""Text to data, with the line and column of every key and value.

    >>> document = parse("replicas: 4\nimage: tf:1.10\n", "job.yaml").documents[0]
    >>> document.data
    {'replicas': 4, 'image': 'tf:1.10'}
    >>> document.value(("image",))
    Position(line=2, column=8)

**What a plain scalar means.** A scalar without quotes is null, a boolean or a number only where YAML 1.1 (PyYAML,
Ruby) and YAML 1.2 (its core schema) agree on the value. All else is the text that it looks like: `on`, `no` and `y`;
`2026-01-01` and `12:30:45`; `017` (15 or 17), `08`, `0o17`, `0b1` and `1_000`; and `1e3`, a number to 1.2 alone,
which could as well be a short commit id (`1234e56`) or an argument to be passed on as it stands (`--rate`, `1e-3`).
Where a number is wanted, the schema then says so, at the place; the other way round nobody would notice.

**What is refused**, since no reader of the output carries it, or since a reviewer would not see it: tags, keys that
are not text, a key given twice, .inf and .nan, integers that Helm's float64 rounds, control characters. Aliases and
merge keys (`<<`) are read, but a file unfolds to at most `MAX_SIZE` values of at most `MAX_DEPTH` levels, so no
file, however it is made, costs more than about a second, or more than some megabytes.

The data is built from libyaml's events, not by a loader of PyYAML's: those recurse as deep as the file nests, unfold
aliases without end, and forget where an alias or a tag was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfgen.data_path import Path
from tfgen.problems import Place, Position, Problem
from tfgen.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tfgen.text.comments import Directive


MAX_BYTES = 1 << 20
"""A job file has some kilobytes."""

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


def decode(raw: bytes, file: str) -> str | Problem:
    """The text of a file: UTF-8, with or without a byte order mark, of at most `MAX_BYTES`."""
    if len(raw) > MAX_BYTES:
        return Problem(file, START, f"the file is larger than {MAX_BYTES:,} bytes", "yaml-size")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Problem(file, START, "the file is UTF-16; save it as UTF-8", "yaml-encoding")
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8").split("\n")
        message = f"the byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8"
        return Problem(file, Position(len(before), len(before[-1]) + 1), message, "yaml-encoding")


def parse(text: str, file: str) -> Parsed:
    """The documents of a YAML text. Empty ones are left out, and a text of nothing else is a problem.

    Args:
        text: as `decode` gives it.
        file: the name that documents and problems carry.
    """
    from tfgen.text import reader  # 20 ms, which a file that is known need not pay

    return reader.read(text, file)
