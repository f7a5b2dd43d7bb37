"""Foreign object as a tree of parts. Each part is a value with its position in the user's file.

For example, line 6 of a file is `  replicas: 2`. Then `document_part(document).get("spec", "replicas")` is a part with
the value 2 and the position (6, 13). The position of the part's key is (6, 3).

A reader may move parts, for example to convert an old version of the format to a later version. Each part keeps its
position and its path in the user's file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.errors import Position, Problem
from tfgen.record import Record
from tfgen.text.document import Document, Entry
from tfgen.words import path_name

_LONGEST_NAME: Final = 63
"""Maximum number of characters of an object's name in a message. Kubernetes allows 63 for most names."""


class Part(Record):
    """Value in a foreign object, with its path and position.

    Attributes:
        path: the path of the value in the object in the user's file.
        key: the position of the key to which the value belongs. For an item of a list, the position of the item.
        position: the position of the value.
        text: the text of a scalar in the file; None for a mapping or a list.
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
        """The path of the part for messages. For a whole object, the kind and the name of the object."""
        kind, name = (self.get("kind"), self.get("metadata", "name")) if not self.path else (None, None)
        if kind is None:
            return path_name(self.path)
        return " ".join(part.as_text[:_LONGEST_NAME] for part in (kind, name) if part and part.as_text) or path_name(())

    @property
    def data(self) -> Any:
        """The value as plain Python data. Mappings omit the keys whose value is null."""
        if isinstance(self.value, Mapping):
            return {key: part.data for key, part in self.value.items() if part.value is not None}
        if isinstance(self.value, list):
            return [part.data for part in self.value]
        return self.value

    @property
    def as_text(self) -> str:
        """The text of a scalar as in the file, for example `1.10` for the number 1.1; empty for null."""
        if isinstance(self.value, str):
            return self.value
        return "" if self.value is None else self.text or ""

    def get(self, *keys: str) -> Part | None:
        """Return the part at the path `keys`, or None if a key is missing. As in Kubernetes, null counts as missing."""
        part = self
        for key in keys:
            child = part.value.get(key) if isinstance(part.value, Mapping) else None
            if child is None or child.value is None:
                return None
            part = child
        return part

    def text_at(self, *keys: str) -> str:
        """Return the text of the scalar at the path `keys`; empty if a key is missing."""
        part = self.get(*keys)
        return part.as_text if part else ""

    def texts_at(self, *keys: str) -> list[str]:
        """Return the texts of the items in the list at the path `keys`."""
        return [part.as_text for part in self.items(*keys)]

    def entries(self, *keys: str) -> Iterator[tuple[str, Part]]:
        """Yield (key, part) for each entry of the mapping at the path `keys`. Skip null values."""
        parent = self.get(*keys)
        if parent is not None and isinstance(parent.value, Mapping):
            yield from ((key, part) for key, part in parent.value.items() if part.value is not None)

    def items(self, *keys: str) -> Iterator[Part]:
        """Yield the items of the list at the path `keys`."""
        parent = self.get(*keys)
        if parent is not None and isinstance(parent.value, list):
            yield from parent.value

    def leaves(self) -> Iterator[Part]:
        """Yield each scalar inside the part, or the part itself if the part is a scalar. Skip null values."""
        if isinstance(self.value, (Mapping, list)):
            for part in self.value.values() if isinstance(self.value, Mapping) else self.value:
                yield from part.leaves()
        elif self.value is not None:
            yield self

    def scalar(self, value: Any) -> Part:
        """Return a new scalar that has the position and the path of this part."""
        return self.replaced(value=value, text=str(value))

    def with_part(self, path: Sequence[str], part: Part) -> Part:
        """Return a copy of this part with the part `part` at the given path. Missing parent mappings are added.

        An added mapping gets the position of its own parent.
        """
        if not path:
            return part
        fields = self.value if isinstance(self.value, Mapping) else {}
        child = fields.get(path[0]) or mapping(self, {})
        return mapping(self, {**fields, path[0]: child.with_part(path[1:], part)})

    def without(self, *keys: str) -> Part:
        """Return a copy of the mapping without the given keys. A part that is not a mapping stays unchanged."""
        if not isinstance(self.value, Mapping):
            return self
        return self.replaced(value={key: part for key, part in self.value.items() if key not in keys})

    def without_path(self, path: Path) -> Part:
        """Return a copy of the part without the value at a path. The path must end with a key."""
        step, *remaining_steps = path
        if not remaining_steps:
            return self.without(str(step))
        if isinstance(self.value, list) and isinstance(step, int) and step < len(self.value):
            items = [*self.value]
            items[step] = items[step].without_path(tuple(remaining_steps))
            return self.replaced(value=items)
        if isinstance(self.value, Mapping) and step in self.value:
            return self.replaced(value={**self.value, step: self.value[step].without_path(tuple(remaining_steps))})
        return self

    def problem(self, message: str, rule: str) -> Problem:
        """Return a problem of severity error at the position of the part."""
        return Problem(self.file, self.key, message, rule)


def document_part(document: Document) -> Part:
    """Convert a YAML document to a tree of parts, and return the root."""
    return _part(document.file, (), Entry.of_item(0, document.root), document.data)


def part_of(data: Any, path: Path = ()) -> Part:
    """Convert plain data to a part that has no file and no real positions."""
    start = Position(1, 1)
    value = data
    if isinstance(data, Mapping):
        value = {key: part_of(child, (*path, key)) for key, child in data.items()}
    elif isinstance(data, list):
        value = [part_of(child, (*path, index)) for index, child in enumerate(data)]
    return Part("", path, start, start, None, value)


def scalar_part(file: str, position: Position, name: str, value: str) -> Part:
    """Return a part with the text `value`, for a word of a command line.

    `name` is the name of the part in messages, such as "--workers".
    """
    return Part(file, (name,), position, position, value, value)


def build_part(anchor: Part, shape: Any) -> Part:
    """Convert nested mappings and lists to one part. Example of nested mappings: {"spec": {"replicas": 2}}.

    The innermost values are parts or scalars. A new part gets the position of the part `anchor`.
    """
    if isinstance(shape, Mapping):
        return mapping(anchor, {key: build_part(anchor, value) for key, value in shape.items() if value is not None})
    if isinstance(shape, list):
        return sequence(anchor, [build_part(anchor, item) for item in shape])
    return shape if isinstance(shape, Part) else anchor.scalar(shape)


def mapping(anchor: Part, parts: Mapping[str, Part | None]) -> Part:
    """Convert the mapping `parts` to one part with the path and the position of `anchor`. Omit keys without a part."""
    return anchor.replaced(text=None, value={key: part for key, part in parts.items() if part is not None})


def sequence(anchor: Part, parts: Sequence[Part]) -> Part:
    """Convert the list `parts` to one part with the path and the position of `anchor`."""
    return anchor.replaced(text=None, value=list(parts))


def _part(file: str, path: Path, entry: Entry, data: Any) -> Part:
    children, value = entry.value.children, data
    if isinstance(data, Mapping):
        value = {name: _part(file, (*path, name), children[name], data[name]) for name in data}
    elif isinstance(data, list):
        value = [_part(file, (*path, index), children[index], item) for index, item in enumerate(data)]
    return Part(file, path, entry.position, entry.value.position, entry.value.text, value)
