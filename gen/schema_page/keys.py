"""The keys below a key of a schema, with their paths.

    keys_below(schema, ("gang",), node)  ->  Key("gang.scheduler", ...), Key("gang.queue", ...)

`NAME` is any name of a map, and `[]` any item of a list.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

from tfgen.schema.file import Schema, entry, is_record

_DEEPEST: Final = 8
"""Maximum number of keys and items in a path. The schema of free values, as in `objects`, refers to itself."""


class Key(NamedTuple):
    """A key of a schema: its path, its resolved node, and whether the key is tunable and required."""

    path: str
    node: Schema
    is_tunable: bool
    is_required: bool


def keys_below(schema: Schema, parent: Key) -> Iterator[Key]:
    """Yield the keys below a key in the order of the schema, each followed by the keys below it."""
    path, owner = parent.path, parent.node
    while not is_record(owner):
        if path.count(".") + path.count("[]") > _DEEPEST:
            return
        child = entry(schema, owner, 0 if "items" in owner else "NAME")
        if child is None:
            return
        path, owner = f"{path}[]" if "items" in owner else f"{path}.NAME", child
    for name in owner["properties"]:
        node = entry(schema, owner, name) or {}
        is_tunable = node.get("x-tunable", parent.is_tunable)
        key = Key(f"{path}.{name}", node, is_tunable, name in owner.get("required", ()))
        yield key
        yield from keys_below(schema, key)


def default_of(key: Key) -> str:
    """Return the default of a key as JSON, `required`, or an empty text."""
    if key.is_required:
        return "required"
    return f"`{json.dumps(key.node['default'])}`" if "default" in key.node else ""
