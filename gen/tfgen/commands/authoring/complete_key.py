"""Completions of a word by the keys of a job.

    >>> [key.path for key in complete_key("spec.roles.w")]
    ['spec.roles.worker.']
    >>> [key.path for key in complete_assignment("roles.worker.repl", ())]
    ['roles.worker.replicas=']
    >>> [key.path for key in complete_assignment("completion.release=", ())]
    ['completion.release=ScaleToZero', 'completion.release=Keep']

A completion has `spec.` in front if the word has. A completion that ends in a dot or in `=` is incomplete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.schema import file as schema_file
from tfgen.schema.file import Schema, entry, first_sentence, is_record
from tfgen.schema.hints import json_types
from tfgen.text.document import Document
from tfgen.words import path_name

ANY_NAME: Final = "NAME"
"""The placeholder for the name of a map entry if the jobs have no entry."""


class Key(NamedTuple):
    """A completion: the whole word, and the first sentence of the description of the key."""

    path: str
    text: str = ""


def complete_key(word: str) -> Iterator[Key]:
    """Yield the keys of the schema whose paths begin with a word. The name of a map entry is NAME."""
    parent, _, beginning = word.rpartition(".")
    for key, node in _keys(parent, ()):
        if key.startswith(beginning):
            path = f"{parent}.{key}" if parent else key
            yield Key(f"{path}." if keys_below(node, ()) else path, first_sentence(node))


def complete_assignment(word: str, documents: Sequence[Document]) -> Iterator[Key]:
    """Yield completions of `PATH=VALUE`: paths, and after the `=` the values that the schema lists.

    Args:
        word: the word.
        documents: the jobs, which have the names of the entries of maps.
    """
    path, equals, value = word.partition("=")
    if equals:
        node = _node(path)
        values = () if node is None else choices(node)
        yield from (Key(f"{path}={choice}") for choice in values if choice.startswith(value))
        return
    parent, _, beginning = word.rpartition(".")
    for key, node in _keys(parent, documents):
        if key.startswith(beginning):
            path = f"{parent}.{key}" if parent else key
            has_keys = "items" not in node and (is_record(node) or "additionalProperties" in node)
            yield Key(f"{path}{'.' if has_keys else '='}", first_sentence(node))


def _keys(parent: str, documents: Sequence[Document]) -> Iterator[tuple[str, Schema]]:
    """Yield the keys below a path with their nodes. Below an empty path, also yield the keys of the spec."""
    schema = schema_file.load()
    node = _node(parent)
    if node is not None:
        yield from keys_below(node, [_value(document, parent) for document in documents])
    if not parent:
        yield from keys_below(entry(schema, schema, "spec") or {}, ())


def keys_below(
    node: Schema, values: Sequence[Any], schema_name: str = schema_file.NAME
) -> Sequence[tuple[str, Schema]]:
    """Return the keys that a node has, and the names that values have for the entries of a map by name."""
    schema = schema_file.load(schema_name)
    while "items" in node:
        node = entry(schema, node, 0) or {}
    if is_record(node):
        names: Sequence[str] = tuple(node["properties"])
    elif isinstance(node.get("additionalProperties"), Mapping):
        in_jobs = dict.fromkeys(name for value in values if isinstance(value, Mapping) for name in value)
        names = [path_name((name,)) for name in in_jobs if path_name((name,)) == name] or [ANY_NAME]
    else:
        names = ()
    return [(name, child) for name in names if (child := entry(schema, node, name)) is not None]


def _steps(path: str) -> tuple[str, ...]:
    """Return the steps of a path in a document. A path without `spec` in front gets `spec`."""
    steps = tuple(path.split(".")) if path else ()
    return steps if not steps or steps[0] in schema_file.load()["properties"] else ("spec", *steps)


def _node(path: str) -> Schema | None:
    """Return the node at a path; for a list, the node of its items."""
    schema = schema_file.load()
    node: Schema | None = schema
    for step in _steps(path):
        while node is not None and "items" in node:
            node = entry(schema, node, 0)
        node = None if node is None else entry(schema, node, step)
    return node


def _value(document: Document, path: str) -> Any:
    return data_path.at(document.data, _steps(path))


def choices(node: Schema) -> Sequence[str]:
    """Return the values of a node whose values the schema lists."""
    if "const" in node:
        return [str(node["const"])]
    if "enum" in node:
        return [choice for choice in node["enum"] if isinstance(choice, str) and choice]
    return ("true", "false") if "boolean" in json_types(node) else ()
