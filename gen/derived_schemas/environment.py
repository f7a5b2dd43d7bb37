"""The schema of `spec.environments.NAME`, derived from the tunables of the job schema.

    >>> sorted(environment_schema(schema_file.load())["properties"]["gang"]["properties"])
    ['enabled', 'minAvailable', 'priorityClassName', 'queue']

The schema has the tunable fields of the spec, and the keys of `definitions.place`. No field is required or has a
default, because an unset field keeps the job's value. Inside a map by name, null removes an entry or a key, as in Helm.
The published file contains the result, so that editors complete environments as well. `make schema` derives the result
again after a change of the job schema.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from tfgen.schema.file import Schema, is_record, resolve
from tfgen.schema.tunables import ValuesPath, tunables_in, type_of

_SHARED = "#/definitions/"
_ENVIRONMENT = "#/definitions/environment/definitions/"
STRUCTURE: Schema = {"$ref": f"{_SHARED}structure"}
"""Schema of any Kubernetes data. The definition refers to itself."""
# Keywords that describe complete data. An environment contains only some keys of the data.
_OF_A_WHOLE = (
    "required",
    "oneOf",
    "dependencies",
    "minProperties",
    "maxProperties",
    "default",
    "x-section",
    "x-tunable",
)


_OWN_KEYS: Mapping[str, tuple[str, ...]] = {"replicatedRole": ("replicas",), "workerRole": ("replicas", "runs")}
"""The keys that a definition of a role has before the keys of every role."""


def environment_schema(schema: Schema) -> dict[str, Any]:
    """Return the schema of an environment. The key `definitions` has the definitions that differ from the job's."""
    return _Environment(schema).environment()


def updated(schema: Schema) -> str:
    """Return the text of the published file with new definitions of the roles with several tasks and of environments.

    The definition `role` has the keys of every role. The definitions of the other roles also have keys of their own.
    """
    of_every_role = schema["definitions"]["role"]["properties"]
    definitions = dict(schema["definitions"])
    for name, own_keys in _OWN_KEYS.items():
        own = {key: definitions[name]["properties"][key] for key in own_keys}
        definitions[name] = {**definitions[name], "properties": {**own, **of_every_role}}
    job = {**schema, "definitions": definitions}
    return json.dumps({**job, "definitions": {**definitions, "environment": environment_schema(job)}}, indent=2) + "\n"


class PartMaker(ABC):
    """Base class that derives the schema of a part of the spec, and collects each changed definition once.

    Attributes:
        schema: job schema.
        pointer: JSON pointer of the changed definitions.
        definitions: changed definitions, by name.
    """

    def __init__(self, schema: Schema, pointer: str) -> None:
        self.schema = schema
        self.pointer = pointer
        self.definitions: dict[str, Any] = {}

    @abstractmethod
    def has(self, path: ValuesPath) -> bool:
        """Test whether the part has a key of the spec."""

    @abstractmethod
    def entry(self, written: Schema) -> dict[str, Any]:
        """Return the schema of an entry in a map by name."""

    def record(self, node: Schema, path: ValuesPath = ()) -> dict[str, Any]:
        """Return the schema of a record of the spec."""
        keys = [key for key in node["properties"] if self.has((*path, key))]
        properties = {key: self.value(node["properties"][key], (*path, key)) for key in keys}
        return {**part(node), "properties": properties}

    def value(self, written: Schema, path: ValuesPath) -> dict[str, Any]:
        """Return the schema of the value at a key of a record."""
        node = resolve(self.schema, written)
        if is_record(node):
            return self.changed(written, lambda target: self.record(target, path))
        return self.changed(written, self.map) if type_of(node) == "map" else part(written)

    def map(self, node: Schema) -> dict[str, Any]:
        """Return the schema of a map by name."""
        return {**part(node), "additionalProperties": self.entry(node["additionalProperties"])}

    def changed(self, written: Schema, change: Callable[[Schema], dict[str, Any]]) -> dict[str, Any]:
        """Return a changed node. For a `$ref`, return a reference to the changed definition."""
        if "$ref" not in written:
            return change(written)
        name = written["$ref"].removeprefix(_SHARED)
        if name not in self.definitions:
            self.definitions[name] = {}  # the definition may refer to itself
            self.definitions[name] = change(self.schema["definitions"][name])
        return {**part(written), "$ref": f"{self.pointer}{name}"}


class _Environment(PartMaker):
    """Maker of the schema for the tunable part of the spec. In a map by name, null removes an entry or a key."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema, _ENVIRONMENT)
        self.paths = {tunable.path[:end] for tunable in tunables_in(schema) for end in range(len(tunable.path) + 1)}

    def environment(self) -> dict[str, Any]:
        derived = self.record(self.schema["properties"]["spec"])
        derived["properties"] = {**self.schema["definitions"]["place"]["properties"], **derived["properties"]}
        derived["description"] = "Differences of an environment from the job. An unset field keeps the job's value."
        derived["examples"] = [{"roles": {"worker": {"replicas": 1}}}]
        return {**derived, "definitions": dict(sorted(self.definitions.items()))}

    def has(self, path: ValuesPath) -> bool:
        return path in self.paths

    def entry(self, written: Schema) -> dict[str, Any]:
        """Return the schema of an entry that null removes. Entries of lists have no such schema."""
        if written == STRUCTURE:
            return {"$ref": f"{_SHARED}patch"}
        return self.changed(written, self.or_null)

    def or_null(self, node: Schema) -> dict[str, Any]:
        derived = part(node)
        derived["type"] = [*([derived["type"]] if isinstance(derived["type"], str) else derived["type"]), "null"]
        if "enum" in derived:
            derived["enum"] = [*derived["enum"], None]
        if "properties" in derived:
            derived["properties"] = {key: self.entry(value) for key, value in derived["properties"].items()}
        if isinstance(derived.get("additionalProperties"), Mapping):
            derived["additionalProperties"] = self.entry(derived["additionalProperties"])
        return derived


def part(node: Schema) -> dict[str, Any]:
    """Return a node without the keywords that describe complete data."""
    return {key: value for key, value in node.items() if key not in _OF_A_WHOLE}
