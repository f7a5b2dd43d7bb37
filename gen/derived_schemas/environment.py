"""What one environment may say: the schema of `spec.environments.NAME`, made from the tunables of the job schema.

    >>> sorted(environment_schema(schema_file.load())["properties"]["gang"]["properties"])
    ['enabled', 'minAvailable', 'priorityClassName', 'queue']

It has the shape of the spec, without what is not tunable, and the keys of `definitions.place`. Nothing is required and
nothing has a default, since what is not said stays as the job has it. Inside a map by name, null removes an entry or a
key, as it does in Helm. The published file holds the result, so that editors complete environments too; `make schema`
makes that part anew after a change of the rest of the file.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from tfgen.schema.file import Schema, is_record, resolve
from tfgen.schema.tunables import ValuesPath, leaves, type_of

_SHARED = "#/definitions/"
_OWN = "#/definitions/environment/definitions/"
STRUCTURE: Schema = {"$ref": f"{_SHARED}structure"}
"""Whatever Kubernetes documents; it holds itself."""
# Keywords that speak of a whole, of which an environment says only a part.
_OF_A_WHOLE = ("required", "oneOf", "dependencies", "minProperties", "maxProperties", "default", "x-tunable")


def environment_schema(schema: Schema) -> dict[str, Any]:
    """The schema of one environment. Definitions that differ from the job's are in its own `definitions`."""
    return _Environment(schema).environment()


def updated(schema: Schema) -> str:
    """The text of the published file, with `definitions.environment` made anew."""
    definitions = {**schema["definitions"], "environment": environment_schema(schema)}
    return json.dumps({**schema, "definitions": definitions}, indent=2) + "\n"


class PartMaker(ABC):
    """Makes the schema of a part of the spec, and collects each definition that it changes once.

    Attributes:
        schema: the job schema.
        own: the pointer below which the changed definitions are to stand.
        definitions: those, by name.
    """

    def __init__(self, schema: Schema, own: str) -> None:
        self.schema = schema
        self.own = own
        self.definitions: dict[str, Any] = {}

    @abstractmethod
    def has(self, path: ValuesPath) -> bool:
        """Whether the part has that key of the spec."""

    @abstractmethod
    def entry(self, written: Schema) -> dict[str, Any]:
        """What stands in a map by name."""

    def record(self, node: Schema, path: ValuesPath = ()) -> dict[str, Any]:
        """A record of the spec."""
        inner = {key: written for key, written in node["properties"].items() if self.has((*path, key))}
        return {**part(node), "properties": {key: self.inside(inner[key], (*path, key)) for key in inner}}

    def inside(self, written: Schema, path: ValuesPath) -> dict[str, Any]:
        """What stands at a key of a record."""
        node = resolve(self.schema, written)
        if is_record(node):
            return self.changed(written, lambda target: self.record(target, path))
        return self.changed(written, self.map) if type_of(node) == "map" else part(written)

    def map(self, node: Schema) -> dict[str, Any]:
        """A map by name."""
        return {**part(node), "additionalProperties": self.entry(node["additionalProperties"])}

    def changed(self, written: Schema, change: Callable[[Schema], dict[str, Any]]) -> dict[str, Any]:
        """A node changed where it is written or, if it is a `$ref`, as a definition of the part's own."""
        if "$ref" not in written:
            return change(written)
        name = written["$ref"].removeprefix(_SHARED)
        if name not in self.definitions:
            self.definitions[name] = {}  # it may hold itself
            self.definitions[name] = change(self.schema["definitions"][name])
        return {**part(written), "$ref": f"{self.own}{name}"}


class _Environment(PartMaker):
    """What is tunable. In a map by name null removes an entry, and so it does each key of it."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema, _OWN)
        self.paths = {leaf.tunable.path[:end] for leaf in leaves(schema) for end in range(len(leaf.tunable.path) + 1)}

    def environment(self) -> dict[str, Any]:
        derived = self.record(self.schema["properties"]["spec"])
        derived["properties"] = {**self.schema["definitions"]["place"]["properties"], **derived["properties"]}
        derived["description"] = "What differs in one environment. What is not said stays as the job has it."
        derived["examples"] = [{"roles": {"worker": {"replicas": 1}}}]
        return {**derived, "definitions": dict(sorted(self.definitions.items()))}

    def has(self, path: ValuesPath) -> bool:
        return path in self.paths

    def entry(self, written: Schema) -> dict[str, Any]:
        """All but what is in a list can be removed."""
        if written == STRUCTURE:
            return {"$ref": f"{_SHARED}patch"}
        return self.changed(written, self.or_null)

    def or_null(self, node: Schema) -> dict[str, Any]:
        derived = part(node)
        derived["type"] = [*([derived["type"]] if isinstance(derived["type"], str) else derived["type"]), "null"]
        if "enum" in derived:
            derived["enum"] = [*derived["enum"], None]
        if "properties" in derived:
            derived["properties"] = {key: self.entry(inner) for key, inner in derived["properties"].items()}
        if isinstance(derived.get("additionalProperties"), Mapping):
            derived["additionalProperties"] = self.entry(derived["additionalProperties"])
        return derived


def part(node: Schema) -> dict[str, Any]:
    """A node without the keywords that speak of a whole."""
    return {key: value for key, value in node.items() if key not in _OF_A_WHOLE}
