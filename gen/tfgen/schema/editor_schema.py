"""The schema that an editor reads: the published schema, shortened so that a repository can contain a copy.

    editor_schema(NAME)  ->  the text of job.schema.json, with one line for each definition

Both schemas accept the same documents. In the short schema, equal nodes share a definition, and only the first
sentence of each description remains. The short schema omits defaults, examples and keywords of tfgen. Editors do not
need these keywords, and `tfgen explain` prints them.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tfgen.schema.file import NAME, Schema, first_sentence, load, target

_BY_NAME: Final = ("properties", "patternProperties")
_ONE_NODE: Final = ("items", "additionalProperties", "propertyNames", "not")
_LISTS: Final = ("oneOf", "anyOf", "allOf")
_LEFT_OUT: Final = ("default", "examples", "definitions")
_ROOT: Final = "#/definitions/"
_SHORT_ROOT: Final = "#/$defs/"
_NULL: Final[Schema] = {"type": "null"}
_SMALLEST: Final = 80
"""Minimum length of a repeated node that a reference replaces, in characters."""


@functools.cache
def editor_schema(name: str = NAME) -> str:
    """Return the text of the short schema for an editor. `name` is the file name of the published schema."""
    shared = _Shared(load(name))
    root = shared.node(shared.root)
    lines = [f"{json.dumps(key)}: {_one_line(value)}" for key, value in root.items()]
    entries = (f"{json.dumps(name)}: {_one_line(node)}" for name, node in sorted(shared.definitions.items()))
    definitions = ",\n".join(entries)
    return "{\n" + ",\n".join([*lines, f'"$defs": {{\n{definitions}\n}}']) + "\n}\n"


def _one_line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _plain(node: Schema) -> dict[str, Any]:
    """Return a schema node without the keywords that editors do not need.

    A node that allows null becomes an `anyOf` of two nodes: the node without null, and a node that allows only null. So
    a reference to a shared definition can later replace the node without null.
    """
    fields = {key: value for key, value in node.items() if key not in _LEFT_OUT and not key.startswith("x-")}
    if "description" in fields:
        fields["description"] = first_sentence(fields)
    plain = _map_nodes(fields, _plain)
    types = plain.get("type")
    if not isinstance(types, list) or "null" not in types or "properties" in plain:
        return plain
    *first_types, last = (name for name in types if name != "null")
    base = {**plain, "type": [*first_types, last] if first_types else last}
    if "enum" in base:
        base["enum"] = [choice for choice in base["enum"] if choice is not None]
    return {"anyOf": [base, _NULL]}


def _map_nodes(node: Schema, change: Callable[[Schema], Any]) -> dict[str, Any]:
    """Return a copy of a schema node in which the function `change` has replaced each child node.

    A child node is, for example, the schema of a property.
    """
    changed = dict(node)
    for key, value in node.items():
        if key in _BY_NAME:
            changed[key] = {name: change(child) for name, child in value.items()}
        elif key in _ONE_NODE and isinstance(value, Mapping):
            changed[key] = change(value)
        elif key in _LISTS:
            changed[key] = [change(child) for child in value]
    return changed


class _Shared:
    """Collector of the repeated nodes of a schema. Each repeated node becomes a shared definition.

    Attributes:
        definitions: the definitions by name. A definition contains no nested definitions.
    """

    def __init__(self, schema: Schema) -> None:
        self.definitions: dict[str, dict[str, Any]] = {}
        self._names: dict[str, str] = {}
        self._pointers: dict[str, str] = {}
        self._count: Counter[str] = Counter()
        named = {pointer: _plain(target(schema, pointer)) for pointer in _pointers(schema["definitions"], _ROOT)}
        # The definition of the job that allows the same values as a definition with the same name, except null.
        base_of = {pointer: f"{_ROOT}{pointer.rpartition('/')[2]}" for pointer in named}
        optional = {
            pointer: base_of[pointer]
            for pointer, node in named.items()
            if node == {"anyOf": [named.get(base_of[pointer]), _NULL]}
        }
        named = {pointer: _without_null(node, optional) for pointer, node in named.items() if pointer not in optional}
        self.root = _without_null(_plain(schema), optional)
        for pointer in named:
            base = re.sub("[^A-Za-z0-9]", "", pointer.rpartition("/")[2]) or "text"
            candidates = (base, *(f"{base}{number}" for number in range(2, 1_000)))
            taken = {*self._pointers.values()}
            self._pointers[pointer] = next(name for name in candidates if name not in taken)
        for node in (self.root, *named.values()):
            self._measure(node)
        for pointer, node in named.items():
            self.definitions[self._pointers[pointer]] = self.node(node)

    def _measure(self, node: Schema) -> None:
        for part in (node, _constraint(node)):
            self._count[_key(part)] += 1
        _map_nodes(node, self._measure)  # visits the child nodes; the copy is not used

    def node(self, node: Schema) -> dict[str, Any]:
        """Return a copy of a schema node in which references to definitions replace the repeated nodes."""
        if "$ref" in node:
            return {**node, "$ref": f"{_SHORT_ROOT}{self._pointers[node['$ref']]}"}
        return _map_nodes(node, self._reference)

    def _reference(self, node: Schema) -> dict[str, Any]:
        return self._defined(node) if self._is_shared(node) else self._described(node)

    def _described(self, node: Schema) -> dict[str, Any]:
        """Return a copy of a schema node, in which a reference may replace all keywords but the description."""
        constraint = _constraint(node)
        if "description" in node and self._is_shared(constraint):
            return {"description": node["description"], **self._defined(constraint)}
        return self.node(node)

    def _is_shared(self, node: Schema) -> bool:
        key = _key(node)
        return self._count[key] > 1 and len(key) > _SMALLEST and ("$ref" not in node or "description" in node)

    def _defined(self, node: Schema) -> dict[str, Any]:
        key = _key(node)
        if key not in self._names:
            self._names[key] = str(len(self._names))
            self.definitions[self._names[key]] = self._described(node)
        return {"$ref": f"{_SHORT_ROOT}{self._names[key]}"}


def _without_null(node: Schema, optional: Mapping[str, str]) -> dict[str, Any]:
    """Return a copy of a schema node in which an `anyOf` replaces each reference to a definition that allows null.

    The `anyOf` has two nodes: a reference to the definition without null, and a node that allows only null. The mapping
    `optional` contains the pointers of both definitions, as in ``{"#/definitions/environment/definitions/size":
    "#/definitions/size"}``.
    """
    if node.get("$ref") in optional:
        return {"anyOf": [{**node, "$ref": optional[node["$ref"]]}, _NULL]}
    return _map_nodes(node, lambda child: _without_null(child, optional))


def _constraint(node: Schema) -> Schema:
    """Return a copy of a schema node without the description, which does not constrain a value."""
    return {key: value for key, value in node.items() if key != "description"}


def _key(node: Schema) -> str:
    return json.dumps(node, sort_keys=True)


def _pointers(definitions: Schema, base: str) -> Iterator[str]:
    """Yield the JSON pointers of all definitions, including definitions inside another definition.

    `base` is the pointer above the definitions, such as `#/definitions/`.
    """
    for name, node in definitions.items():
        yield f"{base}{name}"
        if "definitions" in node:
            yield from _pointers(node["definitions"], f"{base}{name}/definitions/")
