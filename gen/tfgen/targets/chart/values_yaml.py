"""``values.yaml``: every value of the chart with its default, each with a comment from the job schema.

# Number of tasks of the role.
replicas: 4
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfgen.schema import file as schema_file
from tfgen.text import yaml_text


def values_yaml(values: Mapping[str, Any]) -> str:
    """The file's text; a blank line before each key at the top."""
    return "\n".join(_entry(("spec",), key, value, "") for key, value in values.items())


def _entry(above: tuple[str, ...], key: str, value: Any, indent: str) -> str:
    schema = schema_file.load()
    path = (*above, key)
    node = schema_file.node(schema, path) or {}
    comment = f"{indent}# {schema_file.first_sentence(node)}\n"
    if not schema_file.is_record(node):
        lines = yaml_text.dump({key: value}).splitlines(keepends=True)
        return comment + "".join(line if line == "\n" else indent + line for line in lines)
    inner = "".join(_entry(path, name, item, indent + "  ") for name, item in value.items())
    return f"{comment}{indent}{yaml_text.scalar(key)}:\n{inner}"
