"""``values.yaml``: every value of the chart with its default, each with a comment from its schema.

# Number of tasks. From 1 to 10000.
replicas: 4

Roles have the same keys, so that a key that an earlier role has stands without its comment. Of a map whose entries have
keys of their own, as each volume has, the comment lists these.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.schema import file as schema_file
from tfgen.schema.chart_values import chart_values
from tfgen.schema.file import Schema
from tfgen.schema.hints import choices
from tfgen.text import yaml_text
from tfgen.words import either

_WIDTH: Final = 100


def values_yaml(values: Mapping[str, Any], lacks: tuple[str, ...] = (), environments: Sequence[str] = ()) -> str:
    """The file's text; a blank line before each key at the top.

    Args:
        values: the chart's values.
        lacks: the keys that a map's entries cannot have in this chart, as ``storage.*.nfs``.
        environments: those that the chart is told.
    """
    of_chart = chart_values(environments)
    commented: set[tuple[str, ...]] = set()
    own = [f"# {node['description']}\n{yaml_text.dump({name: node['default']})}" for name, node in of_chart.items()]
    entries = (_entry(("spec",), key, value, "", commented, lacks) for key, value in values.items())
    return "\n".join([*own, *entries])


def _entry(
    above: tuple[str, ...],
    key: str,
    value: Any,
    indent: str,
    commented: set[tuple[str, ...]],
    lacks: tuple[str, ...],
) -> str:
    path = (*above, key)
    # What stands with an earlier role needs no comment.
    alike = ("spec", "roles", "*", *path[3:]) if path[1] == "roles" and len(path) > 3 else path
    comment = "" if alike in commented else _comment(path, indent, lacks)
    commented.add(alike)
    if not _is_record(path):
        lines = yaml_text.dump({key: value}).splitlines(keepends=True)
        return comment + "".join(line if line == "\n" else indent + line for line in lines)
    inner = "".join(_entry(path, name, item, indent + "  ", commented, lacks) for name, item in value.items())
    return f"{comment}{indent}{yaml_text.scalar(key)}:\n{inner}"


@functools.cache
def _is_record(path: tuple[str, ...]) -> bool:
    return schema_file.is_record(_node(path))


def _node(path: tuple[str, ...]) -> Schema:
    return schema_file.node(schema_file.load(), path) or {}


@functools.lru_cache(1 << 12)  # the values of a few structures
def _comment(path: tuple[str, ...], indent: str, lacks: tuple[str, ...]) -> str:
    """A value's comment."""
    node, width = _node(path), _WIDTH - len(indent)
    lines = _wrapped(" ".join([node.get("description", ""), *_allowed(node)]), width)
    entry = schema_file.entry(schema_file.load(), node, "*")
    if not schema_file.is_record(node) and entry and schema_file.is_record(entry):
        lines += _keys((*path[1:], "*"), entry, lacks, "  ", width)
    return "".join(f"{indent}# {line}\n" for line in lines)


def _keys(path: tuple[str, ...], record: Schema, lacks: Collection[str], indent: str, width: int) -> Iterator[str]:
    """A line or more on each key of a record that is no value by itself, such as a volume, and on those below it."""
    one_of = [key for key in choices(record) if ".".join((*path, key)) not in lacks] if "oneOf" in record else []
    if one_of:
        yield from _wrapped(f"Exactly one of {either(one_of)}.", width, indent)
    for key, written in record["properties"].items():
        if ".".join((*path, key)) in lacks:
            continue
        node = schema_file.resolve(schema_file.load(), written)
        required = ["Required."] if key in record.get("required", ()) else []
        text = " ".join([f"{key}:", *required, node["description"], *_allowed(node), *_default(node)])
        yield from _wrapped(text, width, indent)
        if schema_file.is_record(node):
            yield from _keys((*path, key), node, lacks, indent + "  ", width)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    further = f"{indent}  " if indent else ""
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=further, break_on_hyphens=False)


def _allowed(node: Schema) -> Iterator[str]:
    """What the schema lets in, where that is more than a type."""
    if "enum" in node:
        choices = (yaml_text.scalar(choice) for choice in node["enum"])
        yield f"One of: {', '.join(choices)}."
    elif node.get("x-kind") == "quantity":
        yield f"A quantity, such as {' or '.join(str(example) for example in node['examples'])}."
    elif node.get("type") == "integer" and {"minimum", "maximum"} <= node.keys():
        yield f"From {node['minimum']} to {node['maximum']}."


def _default(node: Schema) -> Iterator[str]:
    """What a key that is not there stands for, where that is more than nothing."""
    if node.get("default") and not isinstance(node["default"], (dict, list)):
        yield f"{yaml_text.scalar(node['default'])} by default."
