"""What one environment may say: the schema of `spec.environments.NAME`, made from the tunables of the job schema.

    >>> sorted(environment_schema(schema_file.load())["properties"]["gang"]["properties"])
    ['enabled', 'minAvailable', 'priorityClassName', 'queue']

It has the shape of the spec, without what is not tunable. Nothing is required and nothing has a default, since what
is not said stays as the job has it. Inside a map by name, null removes an entry or a key, as it does in Helm. The
published file holds the result, so that editors complete environments too; after a change of the rest of the file

    python -m tfgen.environment_schema

makes that part anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tfgen import schema_file
from tfgen.schema_file import Schema, is_record, resolve
from tfgen.tunables import ValuesPath, kind_of, leaves

_SHARED = "#/definitions/"
_OWN = "#/definitions/environment/definitions/"
# Keywords that speak of a whole, of which an environment says only a part.
_OF_A_WHOLE = ("required", "oneOf", "dependencies", "minProperties", "maxProperties", "default", "x-tunable")


def environment_schema(schema: Schema) -> dict[str, Any]:
    """The schema of one environment. Definitions that differ from the job's are in its own `definitions`."""
    return _Maker(schema).environment()


def updated(schema: Schema) -> str:
    """The text of the published file, with `definitions.environment` made anew."""
    definitions = {**schema["definitions"], "environment": environment_schema(schema)}
    return json.dumps({**schema, "definitions": definitions}, indent=2) + "\n"


class _Maker:
    """Walks the spec, and collects each definition that it changes once."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.definitions: dict[str, Any] = {}
        self.paths = {leaf.tunable.path[:end] for leaf in leaves(schema) for end in range(len(leaf.tunable.path) + 1)}

    def environment(self) -> dict[str, Any]:
        made = self.record(self.schema["properties"]["spec"], ())
        made["description"] = "What differs in one environment. What is not said stays as the job has it."
        made["examples"] = [{"roles": {"worker": {"replicas": 1}}}]
        return {**made, "definitions": dict(sorted(self.definitions.items()))}

    def record(self, found: Schema, path: ValuesPath) -> dict[str, Any]:
        """A record of the spec: those of its properties that are tunable, or have tunables inside."""
        inner = {key: written for key, written in found["properties"].items() if (*path, key) in self.paths}
        return {**_part(found), "properties": {key: self.inside(inner[key], (*path, key)) for key in inner}}

    def inside(self, written: Schema, path: ValuesPath) -> dict[str, Any]:
        found = resolve(self.schema, written)
        if is_record(found):
            return self.changed(written, lambda target: self.record(target, path))
        return self.changed(written, self.map) if kind_of(found) == "map" else _part(written)

    def map(self, found: Schema) -> dict[str, Any]:
        """A map by name: null removes an entry."""
        return {**_part(found), "additionalProperties": self.removable(found["additionalProperties"])}

    def removable(self, written: Schema) -> dict[str, Any]:
        """What stands in a map: null removes it, and so it does each key of it, but for what is in a list."""
        if written == {"$ref": f"{_SHARED}structure"}:
            return {"$ref": f"{_SHARED}patch"}
        return self.changed(written, self.or_null)

    def or_null(self, found: Schema) -> dict[str, Any]:
        made = _part(found)
        made["type"] = [*([made["type"]] if isinstance(made["type"], str) else made["type"]), "null"]
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
        if "properties" in made:
            made["properties"] = {key: self.removable(inner) for key, inner in made["properties"].items()}
        if isinstance(made.get("additionalProperties"), Mapping):
            made["additionalProperties"] = self.removable(made["additionalProperties"])
        return made

    def changed(self, written: Schema, change: Callable[[Schema], dict[str, Any]]) -> dict[str, Any]:
        """A node changed where it is written or, if it is a `$ref`, as a definition of the environment's own."""
        if "$ref" not in written:
            return change(written)
        name = written["$ref"].removeprefix(_SHARED)
        if name not in self.definitions:
            self.definitions[name] = change(self.schema["definitions"][name])
        return {**_part(written), "$ref": f"{_OWN}{name}"}


def _part(found: Schema) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key not in _OF_A_WHOLE}


if __name__ == "__main__":
    schema_file.path().write_text(updated(schema_file.load()), encoding="utf-8")
