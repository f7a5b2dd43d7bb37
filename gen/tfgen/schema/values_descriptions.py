"""Adds descriptions to values.schema.json: each value gets the description of its field in the job schema.

    {"run": {"$ref": "#/definitions/run"}}
      ->  {"run": {"$ref": "#/definitions/run", "description": "Name of the run."}}

A description is next to a `$ref`, so that fields with different descriptions can share one definition.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final

from tfgen.schema import file as schema_file
from tfgen.schema.chart_values import chart_values
from tfgen.schema.file import Schema

_ENTRY: Final = "additionalProperties"


def described(values_schema: Schema, environments: Sequence[str]) -> Schema:
    """Return a copy of a schema of chart values, with a description of each value.

    Args:
        values_schema: the schema of the values, without descriptions.
        environments: the result of `environments_if_patched` for the job.
    """
    schema: dict[str, Any] = copy.deepcopy(dict(values_schema))
    job = schema_file.load()
    spec = schema_file.resolve(job, job["properties"]["spec"])
    source = {**spec, "properties": {**chart_values(environments), **spec["properties"]}}
    _describe(schema, source, schema)
    return schema


def _describe(node: dict[str, Any], source: Schema, schema: Schema) -> None:
    """Add descriptions to all schema nodes inside the schema node `node`.

    Args:
        node: the node of a value.
        source: the resolved node of the same value in the job schema.
        schema: the complete schema of the values, which contains the definitions.
    """
    target = _target(node, schema)
    for name, child in target.get("properties", {}).items():
        field = schema_file.entry(schema_file.load(), source, name)
        if field and "description" in field and isinstance(child, dict):
            child["description"] = field["description"]
            _describe(child, field, schema)
    entry = schema_file.entry(schema_file.load(), source, "*")
    if entry is not None and isinstance(target.get(_ENTRY), dict):
        _describe(target[_ENTRY], entry, schema)


def _target(node: Schema, schema: Schema) -> Schema:
    """Follow the `$ref` of a node, or the `$ref` in the `allOf` of the node. Return other nodes unchanged."""
    parts = [node, *node.get("allOf", ())]
    reference = next((part["$ref"] for part in parts if "$ref" in part), None)
    return node if reference is None else _target(schema_file.target(schema, reference), schema)
