"""The quick test: it accepts the examples, and never a document in which jsonschema finds an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tfgen.schema.acceptance import is_accepted
from tfgen.schema.file import load

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/job.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_examples_are_accepted(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        assert is_accepted(load(), document)


SCHEMAS: list[dict[str, Any]] = [
    {"type": "integer"},
    {"type": ["number", "null"]},
    {"type": "string", "pattern": "^a$", "maxLength": 1},
    {"enum": ["a", "b"]},
    {"const": "a"},
    {"not": {"enum": ["a", "1"]}},
    {"minimum": 1, "maximum": 2},
    {"minItems": 1, "maxItems": 2, "uniqueItems": True, "items": {"type": ["string", "integer"]}},
    {"minProperties": 1, "maxProperties": 1},
    {"required": ["a"]},
    {"dependencies": {"a": ["b"]}},
    {"properties": {"a": {"type": "string"}}, "additionalProperties": False},
    {"patternProperties": {"^b": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
    {"propertyNames": {"pattern": "^a$"}},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"anyOf": [{"type": "string"}, {"type": "array"}]},
    {"allOf": [{"type": "string"}, {"minLength": 2}]},
    {"definitions": {"a": {"type": "string"}}, "$ref": "#/definitions/a"},
]
UNDECIDED: list[dict[str, Any]] = [
    {"dependencies": {"a": {"required": ["b"]}}},
    {"if": {"type": "string"}, "then": {"const": "a"}},
]
"""Schemas with a keyword that the quick test does not support."""

VALUES: list[Any] = [
    *(None, True, False, 0, 1, 3, 1.5, "", "a", "b", "c", "ab", "a\n", "ä", "1"),
    *([], ["a"], ["a", "a"], ["a", "b", "c"], [1, True], [1, 1.0]),
    *({}, {"a": "x"}, {"a": 1}, {"b": 1}, {"b": "x"}, {"a": "x", "b": 1}, {"c": 1}),
]


@pytest.mark.parametrize("schema", [*SCHEMAS, *UNDECIDED], ids=json.dumps)
def test_an_invalid_value_is_never_accepted(schema: dict[str, Any]) -> None:
    invalid = [value for value in VALUES if not jsonschema.Draft7Validator(schema).is_valid(value)]
    assert invalid
    assert [value for value in invalid if is_accepted(schema, value)] == []


def test_a_number_such_as_2_0_is_no_integer() -> None:
    assert not is_accepted({"type": "integer"}, 2.0)


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_some_valid_value_is_accepted(schema: dict[str, Any]) -> None:
    assert any(is_accepted(schema, value) for value in VALUES)
