"""A foreign object as a tree of parts: each value with the place in the user's file where it stands.

    part = whole(document)
    part.get("spec", "replicas").value    -> 2
    part.get("spec", "replicas").key      -> Position(line=6, column=3)

A reader may put parts into another shape, that of a later version of the same form: each keeps its own place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.problems import Position, Problem
from tfgen.record import Record
from tfgen.text.document import Document, SourceTree
from tfgen.words import path_name

_LONGEST_NAME: Final = 63
"""Characters that the name of an object may have; more of a longer one helps nobody."""


class Part(Record):
    """A value of a foreign object.

    Attributes:
        path: where it stands in its object, as the user wrote it.
        key: where its key, or its list item, begins.
        position: where its value begins.
        text: a scalar as it was written; None for a mapping or a list.
        value: a scalar, a mapping of parts by key, or a list of parts.
    """

    file: str
    path: Path
    key: Position
    position: Position
    text: str | None
    value: Any

    @property
    def name(self) -> str:
        """Its path, as messages show it; of a whole object its kind and its name."""
        kind, name = (self.get("kind"), self.get("metadata", "name")) if not self.path else (None, None)
        if kind is None:
            return path_name(self.path)
        return " ".join(part.as_text[:_LONGEST_NAME] for part in (kind, name) if part and part.as_text) or path_name(())

    @property
    def data(self) -> Any:
        """The plain data, without what is null."""
        if isinstance(self.value, Mapping):
            return {key: part.data for key, part in self.value.items() if part.value is not None}
        if isinstance(self.value, list):
            return [part.data for part in self.value]
        return self.value

    @property
    def as_text(self) -> str:
        """A scalar as text: `1.10` stays `1.10`. Empty for null."""
        if isinstance(self.value, str):
            return self.value
        return "" if self.value is None else self.text or ""

    def get(self, *keys: str) -> Part | None:
        """What stands below; None where nothing does, or null, which says nothing to Kubernetes."""
        part = self
        for key in keys:
            below = part.value.get(key) if isinstance(part.value, Mapping) else None
            if below is None or below.value is None:
                return None
            part = below
        return part

    def text_at(self, *keys: str) -> str:
        """Return the text of the scalar at some keys. Missing keys give an empty text."""
        part = self.get(*keys)
        return part.as_text if part else ""

    def texts_at(self, *keys: str) -> list[str]:
        """Return the texts of the items of the list at some keys."""
        return [part.as_text for part in self.items(*keys)]

    def entries(self, *keys: str) -> Iterator[tuple[str, Part]]:
        """The keys of the mapping below, and what they say; none where there is no mapping."""
        below = self.get(*keys)
        if below is not None and isinstance(below.value, Mapping):
            yield from ((key, part) for key, part in below.value.items() if part.value is not None)

    def items(self, *keys: str) -> Iterator[Part]:
        """The items of the list below; none where there is no list."""
        below = self.get(*keys)
        if below is not None and isinstance(below.value, list):
            yield from below.value

    def leaves(self) -> Iterator[Part]:
        """All scalars in it that say something."""
        if isinstance(self.value, (Mapping, list)):
            for part in self.value.values() if isinstance(self.value, Mapping) else self.value:
                yield from part.leaves()
        elif self.value is not None:
            yield self

    def scalar(self, value: Any) -> Part:
        """Return a scalar at the position of this part."""
        return self.replaced(value=value, text=str(value))

    def with_part(self, path: Sequence[str], part: Part) -> Part:
        """Return this part with another part at a path. A missing mapping gets the position of the nearest part."""
        if not path:
            return part
        fields = self.value if isinstance(self.value, Mapping) else {}
        below = fields.get(path[0]) or mapping(self, {})
        return mapping(self, {**fields, path[0]: below.with_part(path[1:], part)})

    def without(self, *keys: str) -> Part:
        """The mapping without some of its keys; what is no mapping has none of them."""
        if not isinstance(self.value, Mapping):
            return self
        return self.replaced(value={key: part for key, part in self.value.items() if key not in keys})

    def without_path(self, path: Path) -> Part:
        """The part without what stands at a path in it, if anything does. The path's last step is a key."""
        step, *rest = path
        if not rest:
            return self.without(str(step))
        if isinstance(self.value, list) and isinstance(step, int) and step < len(self.value):
            items = [*self.value]
            items[step] = items[step].without_path(tuple(rest))
            return self.replaced(value=items)
        if isinstance(self.value, Mapping) and step in self.value:
            return self.replaced(value={**self.value, step: self.value[step].without_path(tuple(rest))})
        return self

    def problem(self, message: str, rule: str) -> Problem:
        """An error at the part."""
        return Problem(self.file, self.key, message, rule)


def document_part(document: Document) -> Part:
    """All that a document says."""
    return _part(document.file, (), document.root.position, document.root, document.data)


def part_of(data: Any, path: Path = ()) -> Part:
    """Plain data as a part that stands nowhere."""
    nowhere = Position(1, 1)
    value = data
    if isinstance(data, Mapping):
        value = {key: part_of(inner, (*path, key)) for key, inner in data.items()}
    elif isinstance(data, list):
        value = [part_of(inner, (*path, index)) for index, inner in enumerate(data)]
    return Part("", path, nowhere, nowhere, None, value)


def scalar_part(file: str, position: Position, name: str, value: str) -> Part:
    """A scalar that stands in no YAML: a flag of a command, by whose name messages call it."""
    return Part(file, (name,), position, position, value, value)


def build_part(at: Part, shape: Any) -> Part:
    """Return a part of a shape at the position of another part: a part, a mapping or a list of shapes, or a scalar."""
    if isinstance(shape, Mapping):
        return mapping(at, {key: build_part(at, value) for key, value in shape.items() if value is not None})
    if isinstance(shape, list):
        return sequence(at, [build_part(at, item) for item in shape])
    return shape if isinstance(shape, Part) else at.scalar(shape)


def mapping(at: Part, parts: Mapping[str, Part | None]) -> Part:
    """Return a mapping of parts, without missing ones, at the position of another part."""
    return at.replaced(text=None, value={key: part for key, part in parts.items() if part is not None})


def sequence(at: Part, parts: Sequence[Part]) -> Part:
    """Parts as a list, which stands where another part does."""
    return at.replaced(text=None, value=list(parts))


def _part(file: str, path: Path, key: Position, tree: SourceTree, data: Any) -> Part:
    value = data
    if isinstance(data, Mapping):
        value = {name: _part(file, (*path, name), *tree.children[name], data[name]) for name in data}
    elif isinstance(data, list):
        value = [_part(file, (*path, index), *tree.children[index], item) for index, item in enumerate(data)]
    return Part(file, path, key, tree.position, tree.text, value)
