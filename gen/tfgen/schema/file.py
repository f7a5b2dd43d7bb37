"""The published schemas, and how their nodes are read.

    >>> node(load(), ("spec", "roles", "worker", "replicas"))["maximum"]
    10000

A file is JSON Schema draft-07, in which a validator ignores what stands beside a `$ref`. The keywords that
validators ignore anyway (description, default, examples, x-tunable) may stand there all the same: here they win over
those of the target, so that one definition serves properties with different descriptions.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfgen import data_path

Schema = Mapping[str, Any]

NAME = "trainingjob.v1alpha1.schema.json"
"""The schema of a job."""
DEFAULTS = "defaults.v1alpha1.schema.json"
"""The schema of a team's defaults."""


def path(name: str = NAME) -> Path:
    """Where a schema's file is: inside the installed package, or else in the checkout.

    An editable install has no copy inside the package. `importlib.resources` would find the same two places and
    cost 6 ms more at each start.
    """
    package = Path(__file__).parent.parent
    installed = package / "schemas" / name
    return installed if installed.exists() else package.parent.parent / "schemas" / name


def text(name: str = NAME) -> str:
    """A schema as published."""
    return path(name).read_text(encoding="utf-8")


def load(name: str = NAME) -> Schema:
    """A schema as data, read once. It is shared: nobody changes it."""
    return _load(name)


@functools.cache  # which would keep `load()` and `load(NAME)` apart
def _load(name: str) -> Schema:
    schema: Schema = json.loads(text(name))
    return schema


def resolve(schema: Schema, node: Schema) -> Schema:
    """A node with its `$ref` followed; what stands beside the `$ref` wins."""
    while "$ref" in node:
        beside = {key: value for key, value in node.items() if key != "$ref"}
        node = {**target(schema, node["$ref"]), **beside}
    return node


def target(schema: Schema, ref: str) -> Schema:
    """What `#/definitions/NAME` points to. Only such local references are used."""
    node: Schema = data_path.follow(schema, ref.removeprefix("#/").split("/"))
    return node


def is_record(node: Schema) -> bool:
    """Whether a resolved node is an object with named properties, and not a map by name."""
    return node.get("type") == "object" and "properties" in node


def entry(schema: Schema, node: Schema, key: str | int) -> Schema | None:
    """The node of one key (or index) of a resolved node, resolved too; None where the schema knows no such key."""
    if isinstance(key, int):
        inner = node.get("items")
    else:
        inner = node.get("properties", {}).get(key) or node.get("additionalProperties")
    return resolve(schema, inner) if isinstance(inner, dict) else None


def node(schema: Schema, path: Sequence[str | int]) -> Schema | None:
    """The resolved node at a path of the document; None where the schema knows no such path."""
    current: Schema | None = schema
    for key in path:
        if current is None:
            return None
        current = entry(schema, current, key)
    return current


def complete(schema: Schema, node: Schema, value: Mapping[str, Any]) -> dict[str, Any]:
    """A record's value with the defaults of what it does not say. A record without a default stays absent."""
    completed: dict[str, Any] = {}
    for key in node["properties"]:
        inner = entry(schema, node, key) or {}
        if key in value:
            completed[key] = complete(schema, inner, value[key]) if is_record(inner) else value[key]
        elif "default" in inner:
            completed[key] = inner["default"]
    return completed


def used_definitions(root: Schema, definitions: Schema) -> dict[str, Any]:
    """The definitions that a schema refers to, and those that they refer to, in the order of their names."""
    used: dict[str, Any] = {}
    waiting = list(_references(root))
    while waiting:
        name = waiting.pop()
        if name not in used:
            used[name] = definitions[name]
            waiting += _references(used[name])
    return dict(sorted(used.items()))


def _references(value: Any) -> Iterator[str]:
    """The names of the definitions that are referred to; of one within another, the outer's."""
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield value["$ref"].split("/")[2]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def first_sentence(node: Schema) -> str:
    """The short text of a node: what its description begins with, up to the first full stop."""
    description: str = node.get("description", "")
    head, stop, _ = description.partition(". ")
    return head + stop.strip()
