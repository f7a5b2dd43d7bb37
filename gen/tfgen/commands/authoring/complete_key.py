"""The keys of a job that a word of a command line may become.

    >>> [key.path for key in complete_key("spec.roles.w")]
    ['spec.roles.worker.']
    >>> [key.path for key in complete_assignment("roles.worker.repl", ())]
    ['roles.worker.replicas=']
    >>> [key.path for key in complete_assignment("completion.release=", ())]
    ['completion.release=ScaleToZero', 'completion.release=Keep']

A path stays as it is written: with or without `spec.` in front. What ends in a dot or in `=` goes on.
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
"""What stands for the name of an entry where no job says one."""


class Key(NamedTuple):
    """A way to go on: the whole word, and the first sentence on what it names."""

    path: str
    text: str = ""


def complete_key(word: str) -> Iterator[Key]:
    """The keys of the schema whose paths begin as the word does; an entry of a map by name is called NAME."""
    above, _, beginning = word.rpartition(".")
    for key, node in _keys(above, ()):
        if key.startswith(beginning):
            path = f"{above}.{key}" if above else key
            yield Key(f"{path}." if keys_below(node, ()) else path, first_sentence(node))


def complete_assignment(word: str, documents: Sequence[Document]) -> Iterator[Key]:
    """The beginnings of `PATH=VALUE` that begin as the word does: paths, and after the `=` the values that have names.

    Args:
        word: what is written.
        documents: the jobs, by which the entries of a map by name are known.
    """
    path, equals, value = word.partition("=")
    if equals:
        node = _node(path)
        values = () if node is None else choices(node)
        yield from (Key(f"{path}={choice}") for choice in values if choice.startswith(value))
        return
    above, _, beginning = word.rpartition(".")
    for key, node in _keys(above, documents):
        if key.startswith(beginning):
            path = f"{above}.{key}" if above else key
            goes_deeper = "items" not in node and (is_record(node) or "additionalProperties" in node)
            yield Key(f"{path}{'.' if goes_deeper else '='}", first_sentence(node))


def _keys(above: str, documents: Sequence[Document]) -> Iterator[tuple[str, Schema]]:
    """The keys below a path as it is written, each with its node; at its beginning also those of the spec."""
    schema = schema_file.load()
    node = _node(above)
    if node is not None:
        yield from keys_below(node, [_value(document, above) for document in documents])
    if not above:
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
    return [(name, inner) for name in names if (inner := entry(schema, node, name)) is not None]


def _steps(path: str) -> tuple[str, ...]:
    """The steps of a path in a document, `spec` in front where it is left out."""
    steps = tuple(path.split(".")) if path else ()
    return steps if not steps or steps[0] in schema_file.load()["properties"] else ("spec", *steps)


def _node(path: str) -> Schema | None:
    """The node at a path as it is written; of a list, that of its items."""
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
