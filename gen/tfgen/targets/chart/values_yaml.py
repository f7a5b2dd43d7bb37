"""``values.yaml``: every value of the chart with its default, each with a comment from its schema.

# Number of tasks. From 1 to 10000.
replicas: 4

Roles have the same keys, so that a key that an earlier role has stands without its comment.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.schema import file as schema_file
from tfgen.schema.chart_values import CHART_VALUES
from tfgen.schema.file import Schema
from tfgen.text import yaml_text

_WIDTH: Final = 100


def values_yaml(values: Mapping[str, Any]) -> str:
    """The file's text; a blank line before each key at the top."""
    commented: set[tuple[str, ...]] = set()
    own = [f"# {node['description']}\n{yaml_text.dump({name: node['default']})}" for name, node in CHART_VALUES.items()]
    return "\n".join([*own, *(_entry(("spec",), key, value, "", commented) for key, value in values.items())])


def _entry(above: tuple[str, ...], key: str, value: Any, indent: str, commented: set[tuple[str, ...]]) -> str:
    path = (*above, key)
    node = schema_file.node(schema_file.load(), path) or {}
    comment = "".join(f"{indent}# {line}\n" for line in _comment(path, node, commented, _WIDTH - len(indent)))
    if not schema_file.is_record(node):
        lines = yaml_text.dump({key: value}).splitlines(keepends=True)
        return comment + "".join(line if line == "\n" else indent + line for line in lines)
    inner = "".join(_entry(path, name, item, indent + "  ", commented) for name, item in value.items())
    return f"{comment}{indent}{yaml_text.scalar(key)}:\n{inner}"


def _comment(path: tuple[str, ...], node: Schema, commented: set[tuple[str, ...]], width: int) -> list[str]:
    """The lines of a value's comment; none for what stands with an earlier role."""
    key = ("spec", "roles", "*", *path[3:]) if path[1] == "roles" and len(path) > 3 else path
    if key in commented:
        return []
    commented.add(key)
    return textwrap.wrap(" ".join([node.get("description", ""), *_allowed(node)]), width, break_on_hyphens=False)


def _allowed(node: Schema) -> Iterator[str]:
    """What the schema lets in, where that is more than a type."""
    if "enum" in node:
        choices = (yaml_text.scalar(choice) for choice in node["enum"])
        yield f"One of: {', '.join(choices)}."
    elif node.get("x-kind") == "quantity":
        yield "A quantity, such as 500m or 4Gi."
    elif node.get("type") == "integer" and {"minimum", "maximum"} <= node.keys():
        yield f"From {node['minimum']} to {node['maximum']}."
