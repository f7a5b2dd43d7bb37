"""The data of a YAML document, and a tree with the position of each key and value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from tfgen.data_path import Path
from tfgen.errors import Place, Position, Problem
from tfgen.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_SIZE = 50_000
"""Maximum number of values in a file. An alias counts like a copy of the value that the alias refers to."""

MAX_DEPTH = 100
TOO_DEEP_MESSAGE = f"this value is nested more than {MAX_DEPTH} levels deep"
MAX_PROBLEMS = 100
"""Maximum number of problems that tfgen reports for a file. A file with more problems is probably not a job file."""

START = Position(1, 1)
"""Position of a problem that concerns a whole file: the start of the file."""


_NO_CHILDREN: Final[Mapping[str | int, Entry]] = {}


class Entry(NamedTuple):
    """A key of a mapping, or an item of a list, with its value.

    Attributes:
        key: the key of the mapping, or the index of the list item.
        position: the position of `token`.
        token: the offset of the anchor of the key; the offset of the key if it has no anchor.
        start: the offset of the key. The key of a list item is an empty text at the start of the value.
        end: the offset after the key.
    """

    key: str | int
    position: Position
    token: int
    start: int
    end: int
    value: YamlNode

    @classmethod
    def of_item(cls, index: int, value: YamlNode) -> Entry:
        """Return the entry of a list item."""
        return cls(index, value.position, value.token, value.start, value.start, value)

    @property
    def is_item(self) -> bool:
        """Return whether the entry is an item of a list."""
        return isinstance(self.key, int)


class YamlNode(NamedTuple):
    """A value in a YAML text. The offsets count characters, and the line ending CR LF has two characters.

    `entries` has the content of the text, for edits. `children` has the content of the data: an alias has the children
    of the value at its anchor, and a mapping has the keys that `<<` merges.

    Attributes:
        position: the position of `token`.
        token: the offset of the value's anchor; the offset of the value if it has no anchor.
        start: the offset of the value after its anchor; for a block mapping, the offset of the first key.
        end: the offset after the value, without the last line end of a block.
        text: the text of a scalar in the file; None for a mapping or a list.
        children: the keys of a mapping or the items of a list, by key or index.
        entries: the keys of a mapping, including the key `<<`, or the items of a list; empty for an alias.
        is_flow: whether the value is a mapping in braces, or a list in brackets.
        size: the number of values in this value, including the value itself. An alias counts as the same number.
        height: the number of nested levels in the value: 1 for a scalar.
    """

    form: Literal["scalar", "alias", "mapping", "list"]
    position: Position
    token: int
    start: int
    end: int
    text: str | None = None
    children: Mapping[str | int, Entry] = _NO_CHILDREN
    entries: tuple[Entry, ...] = ()
    is_flow: bool = False
    size: int = 1
    height: int = 1

    def entry(self, key: str | int) -> Entry | None:
        """Return the entry of a key or an index; None if the text of the mapping or list does not contain the entry.

        A key that `<<` merges is not in the text.
        """
        return next((entry for entry in self.entries if entry.key == key), None)

    def leaves(self) -> Iterator[tuple[int, int]]:
        """Yield the start offset and the end offset of each key, scalar and alias in the node.

        A `#` between the two offsets does not begin a comment.
        """
        if self.form in ("scalar", "alias"):
            yield self.start, self.end
        for entry in self.entries:
            yield entry.start, entry.end
            yield from entry.value.leaves()


class Directive(NamedTuple):
    """A comment that gives an instruction to tfgen, such as `# tfgen: ignore latest-tag`.

    Attributes:
        position: the start of the comment.
        line: the line to which the directive applies.
        words: the text after `tfgen:`.
    """

    position: Position
    line: int
    words: str


class Document(Record):
    """A YAML document: plain data, and the position of each key and value.

    A layer is a `tfgen.yaml` file with defaults for the jobs below its folder.

    Attributes:
        file: the file name for problems.
        data: the data of the document. If `under` is not None, this data is merged over the data of `under`.
        root: the tree of the text of this document, without `under`.
        under: the layer whose defaults the document inherits: the nearest layer of a job, or the parent layer of a
            layer; None without a layer.
        unmerged: the data before the merge with `under`; None if `under` is None.
        directives: the comments of the file that give instructions to tfgen, such as `# tfgen: ignore latest-tag`.
        has_siblings: whether the file contains other documents.
    """

    file: str
    data: Any
    root: YamlNode
    under: Document | None = None
    unmerged: Any = None
    directives: tuple[Directive, ...] = ()
    has_siblings: bool = False

    @classmethod
    def without_places(cls, file: str, data: Any) -> Document:
        """Return a document whose positions are unknown. Each value has the position of the start of the file."""
        return cls(file, data, YamlNode("mapping", START, 0, 0, 0))

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
        _, node, depth = self._layer(path)._nearest(path)
        return node.text if depth == len(path) else None

    def _layer(self, path: Path) -> Document:
        """Return the document or the layer that contains the path, or at least the longest beginning of the path.

        If several contain an equally long beginning, prefer the document, and then the nearest layer.
        """
        if self.under is None:
            return self
        lower = self.under._layer(path)
        return self if self._nearest(path)[2] >= lower._nearest(path)[2] else lower

    def _nearest(self, path: Path) -> tuple[Position, YamlNode, int]:
        """Find the longest beginning of a path that exists in the document. Layers do not count.

        Return the position of the last existing key, the value of this key, and the number of existing steps.
        """
        key, node = self.root.position, self.root
        for taken, step in enumerate(path):
            entry = node.children.get(step)
            if entry is None:
                return key, node, taken
            key, node = entry.position, entry.value
        return key, node, len(path)


class Parsed(Record):
    """The documents of a text, in order, and the problems of the text.

    If the text has problems, the data is incomplete. An invalid number or key is replaced by its text, and an invalid
    alias is replaced by null. The documents do not contain the text after a syntax error.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
