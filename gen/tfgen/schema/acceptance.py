"""A quick test that accepts most valid documents without the import of jsonschema_rs.

    >>> is_accepted({"type": "array", "items": {"type": "string"}}, ["a"])
    True

The import of jsonschema_rs and the compilation of the schema take 25 ms, a sixth of the time of
`tfgen render --stdout`. A document that the quick test accepts is valid. A document that the quick test does not accept
may be valid or invalid, and jsonschema_rs finds the errors.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from tfgen.schema.file import Schema, target


class _UndecidedError(Exception):
    """The quick test cannot decide: Python may read a value or a keyword differently from jsonschema_rs."""


def is_accepted(schema: Schema, data: Any) -> bool:
    """Return True only if the data is valid for a schema. The result may be False for valid data."""
    try:
        return _accepts(schema, schema, data)
    except (_UndecidedError, RecursionError):
        return False


def _accepts(root: Schema, node: Schema | bool, value: Any) -> bool:
    if isinstance(node, bool):
        return node
    if "$ref" in node:  # draft-07 ignores the keywords next to a reference
        return _accepts(root, target(root, node["$ref"]), value)
    for keyword, operand in node.items():
        if keyword in _TESTS:
            if not _TESTS[keyword](operand, value):
                return False
        elif keyword in _APPLICATORS:
            if not _APPLICATORS[keyword](partial(_accepts, root), operand, value):
                return False
        elif keyword not in _OTHER_KEYWORDS and not keyword.startswith("x-"):
            raise _UndecidedError
    return _are_properties_accepted(root, node, value)


# -- keywords that test the value itself ---------------------------------------------------------------------------


def _has_type(names: str | Sequence[str], value: Any) -> bool:
    types = (names,) if isinstance(names, str) else names
    name = _type_name(value)
    return name in types or (name == "integer" and "number" in types)


def _type_name(value: Any) -> str:
    """Return the type of a value in the words of JSON Schema. A float such as 2.0 is no integer."""
    for kind, name in _TYPE_NAMES.items():
        if isinstance(value, kind):
            return name
    raise _UndecidedError


_TYPE_NAMES: Final[Mapping[type, str]] = {
    str: "string",
    dict: "object",
    list: "array",
    bool: "boolean",  # before int, because True is an int
    int: "integer",
    float: "number",
    type(None): "null",
}


def _equals_any(candidates: Sequence[Any], value: Any) -> bool:
    """Return whether a value equals a candidate. In Python, but not in JSON Schema, true equals 1."""
    if any(isinstance(operand, (float, list, dict)) for operand in (value, *candidates)):
        raise _UndecidedError
    return any(type(candidate) is type(value) and candidate == value for candidate in candidates)


def _matches(pattern: str, value: Any) -> bool:
    if not isinstance(value, str):
        return True
    if not value.isascii():
        raise _UndecidedError  # Python and Rust differ in the classes of some characters
    return _compiled(pattern).search(value) is not None


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("$", r"\Z"))  # in Python, "$" also matches before a line end


def _are_unique(is_required: object, value: Any) -> bool:
    if not is_required or not isinstance(value, list):
        return True
    if not all(isinstance(item, str) for item in value) and not all(type(item) is int for item in value):
        raise _UndecidedError
    return len(set(value)) == len(value)


def _has_dependencies(operand: Mapping[str, Any], value: Any) -> bool:
    if not all(isinstance(names, list) for names in operand.values()):
        raise _UndecidedError
    return not isinstance(value, dict) or all(
        required in value for name, names in operand.items() if name in value for required in names
    )


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


_TESTS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "type": _has_type,
    "const": lambda operand, value: _equals_any((operand,), value),
    "enum": _equals_any,
    "pattern": _matches,
    "minLength": lambda operand, value: not isinstance(value, str) or len(value) >= operand,
    "maxLength": lambda operand, value: not isinstance(value, str) or len(value) <= operand,
    "minimum": lambda operand, value: not _is_number(value) or value >= operand,
    "maximum": lambda operand, value: not _is_number(value) or value <= operand,
    "minItems": lambda operand, value: not isinstance(value, list) or len(value) >= operand,
    "maxItems": lambda operand, value: not isinstance(value, list) or len(value) <= operand,
    "uniqueItems": _are_unique,
    "minProperties": lambda operand, value: not isinstance(value, dict) or len(value) >= operand,
    "maxProperties": lambda operand, value: not isinstance(value, dict) or len(value) <= operand,
    "dependencies": _has_dependencies,
    "required": lambda operand, value: not isinstance(value, dict) or all(name in value for name in operand),
}
"""The tests of keywords whose operand contains no schema. A test receives the operand and the value."""

# -- keywords that apply other schemas -----------------------------------------------------------------------------

_Accepts: TypeAlias = Callable[[Any, Any], bool]
"""A function that tests a value against a schema."""


def _are_items_accepted(accepts: _Accepts, operand: Any, value: Any) -> bool:
    return not isinstance(value, list) or all(accepts(operand, item) for item in value)


def _are_names_accepted(accepts: _Accepts, operand: Any, value: Any) -> bool:
    return not isinstance(value, dict) or all(accepts(operand, name) for name in value)


_APPLICATORS: Final[Mapping[str, Callable[[_Accepts, Any, Any], bool]]] = {
    "items": _are_items_accepted,
    "propertyNames": _are_names_accepted,
    "not": lambda accepts, operand, value: not accepts(operand, value),
    "allOf": lambda accepts, operand, value: all(accepts(schema, value) for schema in operand),
    "anyOf": lambda accepts, operand, value: any(accepts(schema, value) for schema in operand),
    "oneOf": lambda accepts, operand, value: sum(accepts(schema, value) for schema in operand) == 1,
}
"""The tests of keywords whose operand contains schemas. A test receives `_accepts`, the operand and the value."""

_OF_PROPERTIES: Final = ("properties", "patternProperties", "additionalProperties")
_ANNOTATIONS: Final = ("$schema", "$comment", "default", "definitions", "description", "examples", "title")
_OTHER_KEYWORDS: Final = frozenset((*_OF_PROPERTIES, *_ANNOTATIONS))


def _are_properties_accepted(root: Schema, node: Schema, value: Any) -> bool:
    """Test the keys of a mapping against `properties`, `patternProperties` and `additionalProperties`."""
    if not isinstance(value, dict):
        return True
    properties, patterns = node.get("properties", {}), node.get("patternProperties", {})
    for name, item in value.items():
        if not isinstance(name, str):
            raise _UndecidedError
        schemas = [properties[name]] if name in properties else []
        schemas += (schema for pattern, schema in patterns.items() if _matches(pattern, name))
        if not all(_accepts(root, schema, item) for schema in schemas or (node.get("additionalProperties", True),)):
            return False
    return True
