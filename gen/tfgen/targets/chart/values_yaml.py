"""Writes ``values.yaml``: all values of the chart with their defaults. The comment of a value comes from its schema.

# Number of tasks. From 1 to 10000.
replicas: 4

All roles have the same keys, so only the first role has comments. A key without a value, such as the image of a role
without an image, is a comment line: ``# image: ""``. The comment of a map of records, such as the volumes, lists the
keys of a record.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from tfgen.data_path import ValueType
from tfgen.schema import file as schema_file
from tfgen.schema import tunables
from tfgen.schema.file import Schema
from tfgen.schema.hints import choices
from tfgen.schema.tunables import ValuesPath, chart_values
from tfgen.schema.values_schema import ValuesForm, ValuesPart, once_a_form
from tfgen.text import yaml_text
from tfgen.words import either

_WIDTH: Final = 100
_EMPTY: Final[Mapping[ValueType, Any]] = {
    "string": "",
    "quantity": "",
    "integer": 0,
    "boolean": False,
    "map": {},
    "list": [],
}
"""The empty value of each type, which the comment line of an optional key shows."""


def values_yaml(values: Mapping[str, Any], form: ValuesForm) -> str:
    """Return the text of ``values.yaml``, with an empty line before each top-level key.

    Args:
        values: the values of the chart.
        form: the paths of the values, and the keys that the job does not support.
    """
    chart_keys = chart_values(form.environments).items()
    chart_entries = (f"# {node['description']}\n{yaml_text.dump({name: node['default']})}" for name, node in chart_keys)
    return "\n".join(chart_entries) + "".join(entry.text(values) for entry in _entries(form))


@once_a_form
def _entries(form: ValuesForm) -> tuple[ValuesPart, ...]:
    """Return the part of values.yaml for each value. A part contains a value and its comment.

    The part of the first value below a parent key, such as `roles`, also contains the parent key with its comment.
    """
    entries = []
    printed: set[ValuesPath] = set()
    commented: set[ValuesPath] = set()
    for path in form.paths:
        head = ""
        for key in (path[:depth] for depth in range(1, len(path) + 1)):
            if key in printed:
                continue
            printed.add(key)
            # All roles share the comment of the first role with this key.
            comment_key = ("roles", "*", *key[2:]) if key[0] == "roles" and len(key) > 2 else key
            unsupported = tuple(path for path in form.unsupported_paths if path.startswith(f"{'.'.join(key)}."))
            comment = "" if comment_key in commented else _comment(key, unsupported)
            commented.add(comment_key)
            parent_line = "" if key == path else f"{_indent(key)}{yaml_text.scalar(key[-1])}:\n"
            head += ("\n" if len(key) == 1 else "") + comment + parent_line
        entries.append(ValuesPart((path,), head, partial(_line, path)))
    return tuple(entries)


def _line(path: ValuesPath, values: Sequence[Any]) -> str:
    (value,) = values
    if value is None:
        return f"{_indent(path)}# {yaml_text.dump({path[-1]: _EMPTY[tunables.at(path).type]})}"
    return yaml_text.dump({path[-1]: value}, _indent(path))


def _indent(path: ValuesPath) -> str:
    return "  " * (len(path) - 1)


@functools.lru_cache(maxsize=1 << 10)  # cached, because the values of two jobs share most comments
def _comment(path: ValuesPath, unsupported: tuple[str, ...]) -> str:
    """Return the comment of a value.

    Args:
        path: the path of the value.
        unsupported: the paths of keys that the job does not support, so that the comment omits these keys. For example,
            a job with the profile "restricted" does not support ``storage.*.nfs``.
    """
    indent = _indent(path)
    node, width = schema_file.node(schema_file.load(), ("spec", *path)) or {}, _WIDTH - len(indent)
    lines = _wrapped(" ".join([node.get("description", ""), *_allowed(node)]), width)
    entry = schema_file.entry(schema_file.load(), node, "*")
    if not schema_file.is_record(node) and entry and schema_file.is_record(entry):
        lines += _keys((*path, "*"), entry, unsupported, "  ", width)
    return "".join(f"{indent}# {line}\n" for line in lines)


def _keys(
    path: tuple[str, ...], record: Schema, unsupported: Collection[str], indent: str, width: int
) -> Iterator[str]:
    """Yield comment lines that describe the keys of a record, such as a volume, and the keys of nested records.

    Args:
        path: the path of the record in the values.
        record: the schema of the record.
        unsupported: the paths of the keys that the job does not support.
        indent: the indentation inside the comment.
        width: the maximum length of a line.
    """
    one_of = [key for key in choices(record) if ".".join((*path, key)) not in unsupported] if "oneOf" in record else []
    if one_of:
        yield from _wrapped(f"Exactly one of {either(one_of)}.", width, indent)
    for key, field in record["properties"].items():
        if ".".join((*path, key)) in unsupported:
            continue
        node = schema_file.resolve(schema_file.load(), field)
        required = ["Required."] if key in record.get("required", ()) else []
        text = " ".join([f"{key}:", *required, node["description"], *_allowed(node), *_default(node)])
        yield from _wrapped(text, width, indent)
        if schema_file.is_record(node):
            yield from _keys((*path, key), node, unsupported, indent + "  ", width)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    continuation = f"{indent}  " if indent else ""
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=continuation, break_on_hyphens=False)


def _allowed(node: Schema) -> Iterator[str]:
    """Yield a sentence about the allowed values, if the schema has choices, examples or a range."""
    if "enum" in node:
        choices = (yaml_text.scalar(choice) for choice in node["enum"])
        yield f"One of: {', '.join(choices)}."
    elif node.get("x-kind") == "quantity":
        yield f"A quantity, such as {' or '.join(str(example) for example in node['examples'])}."
    elif node.get("type") == "integer" and {"minimum", "maximum"} <= node.keys():
        yield f"From {node['minimum']} to {node['maximum']}."


def _default(node: Schema) -> Iterator[str]:
    """Yield a sentence about the default of a key, if the default is a scalar and not empty."""
    if node.get("default") and not isinstance(node["default"], (dict, list)):
        yield f"{yaml_text.scalar(node['default'])} by default."
