"""Shell completion for file names, and for the keys and values of a job.

    >>> [key.path for key in complete_key("spec.roles.w")]
    ['spec.roles.worker.']
    >>> [key.path for key in complete_assignment("roles.worker.repl", ())]
    ['roles.worker.replicas=']
    >>> [key.path for key in complete_assignment("completion.release=", ())]
    ['completion.release=ScaleToZero', 'completion.release=Keep']

A completion begins with `spec.` only if the word to complete begins with `spec.`. After a completion that ends with `.`
or `=`, the user continues to type.
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
"""Placeholder for the name of a map entry, if no job has an entry in this map."""


class Key(NamedTuple):
    """A completion.

    Attributes:
        path: the completed word, such as `spec.roles.worker.`.
        text: the first sentence of the key's description.
    """

    path: str
    text: str = ""


def complete_key(word: str) -> Iterator[Key]:
    """Yield the key paths of job.yaml that begin with a word. For a name that the user chooses, the path has NAME."""
    parent, _, beginning = word.rpartition(".")
    for key, node in _keys(parent, ()):
        if key.startswith(beginning):
            path = f"{parent}.{key}" if parent else key
            yield Key(f"{path}." if keys_below(node, ()) else path, first_sentence(node))


def complete_assignment(word: str, documents: Sequence[Document]) -> Iterator[Key]:
    """Yield completions for an argument such as `retries=3`. After the `=`, the completions are the allowed values.

    Args:
        word: the incomplete argument.
        documents: the jobs on the command line. The completions include names in these jobs, such as names of volumes.
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
    """Yield each key below the path `parent`, with the JSON schema of the key.

    If `parent` is empty, the keys are the top-level keys of job.yaml and the keys of `spec`.
    """
    schema = schema_file.load()
    node = _node(parent)
    if node is not None:
        yield from keys_below(node, [_value(document, parent) for document in documents])
    if not parent:
        yield from keys_below(entry(schema, schema, "spec") or {}, ())


def keys_below(
    node: Schema, values: Sequence[Any], schema_name: str = schema_file.NAME
) -> Sequence[tuple[str, Schema]]:
    """Return each key below a node of the JSON schema, with the schema of the key.

    Args:
        node: the node of the schema. For a list, the function uses the schema of the items.
        values: the values that the jobs have for the node. If the node is a map that allows any key, the result has the
            keys of these values, or the placeholder NAME if the values have no key.
        schema_name: the name of the schema.
    """
    schema = schema_file.load(schema_name)
    node = _item(schema, node)
    if is_record(node):
        names: Sequence[str] = tuple(node["properties"])
    elif isinstance(node.get("additionalProperties"), Mapping):
        in_jobs = dict.fromkeys(name for value in values if isinstance(value, Mapping) for name in value)
        names = [path_name((name,)) for name in in_jobs if path_name((name,)) == name] or [ANY_NAME]
    else:
        names = ()
    return [(name, child) for name in names if (child := entry(schema, node, name)) is not None]


def _steps(path: str) -> tuple[str, ...]:
    """Split a path into keys. Add `spec` in front unless the path begins with a top-level key of job.yaml."""
    steps = tuple(path.split(".")) if path else ()
    return steps if not steps or steps[0] in schema_file.load()["properties"] else ("spec", *steps)


def _node(path: str) -> Schema | None:
    """Return the part of the JSON schema for the value at a path; None for an invalid path."""
    schema = schema_file.load()
    node: Schema | None = schema
    for step in _steps(path):
        node = None if node is None else entry(schema, _item(schema, node), step)
    return node


def _item(schema: Schema, node: Schema) -> Schema:
    """Return the schema of the items for a list, and the schema itself for any other value.

    A field of Kubernetes, which may be a list or a mapping of any depth, is no list.
    """
    while "items" in node and "object" not in node.get("type", ()):
        node = entry(schema, node, 0) or {}
    return node


def _value(document: Document, path: str) -> Any:
    return data_path.at(document.data, _steps(path))


def choices(node: Schema) -> Sequence[str]:
    """Return the allowed values in a part of the JSON schema. The result is empty if the schema allows other values."""
    if "const" in node:
        return [str(node["const"])]
    if "enum" in node:
        return [choice for choice in node["enum"] if isinstance(choice, str) and choice]
    return ("true", "false") if "boolean" in json_types(node) else ()
