"""Explanations and completions of the keys of job.yaml and tfgen.yaml, from their schemas.

`tfgen explain` explains a key of job.yaml by the job schema:

    >>> print(explain("spec.roles.worker.replicas"), end="")
    spec.roles.worker.replicas: an integer from 1 to 10000
    Default: 1
    Tunable: yes, the user of the chart and each environment may set the key
    <BLANKLINE>
      Number of tasks.
    <BLANKLINE>
    Example:
    <BLANKLINE>
      replicas: 4

A path lists the keys in job.yaml, with or without `spec.` in front. The syntax of problem messages is also valid
(`spec.tolerations[0].effect`, `spec.labels["example.com/team"]`). A path may contain any name for an entry of a map
(`spec.storage.NAME.claim`), and any index or no index for an item of a list (`spec.tolerations.effect`).

Shells complete the keys and values of a job:

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

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.errors import UsageError
from tfgen.schema import file as schema_file
from tfgen.schema.file import Schema, entry, first_sentence, is_record, read_path
from tfgen.schema.hints import choices, expected, hint_for_key, json_types
from tfgen.text.document import Document
from tfgen.text.yaml_text import dump
from tfgen.words import columns, either, path_name, shown

# -- explanations ------------------------------------------------------------------------------------------------------


WIDTH: Final = 100
"""Maximum number of columns of the description."""


class _Key(NamedTuple):
    """A key of the schema.

    Attributes:
        path: the path of the key.
        node: the JSON schema of the key, with resolved references.
        tunable: whether the key is tunable.
        required: whether a job must set the key.
    """

    path: tuple[str, ...]
    node: Schema
    tunable: bool
    required: bool = False


def explain(path: str, width: int = WIDTH) -> str:
    """Return the explanation of a key of job.yaml or tfgen.yaml as text. An empty path explains the whole document.

    The path may omit the first keys. If several keys match, the result lists these keys. A dot at the end of the path
    is ignored.

    Args:
        path: the path.
        width: the maximum number of columns of the description.

    Raises:
        UsageError: the schema does not have the key. The message suggests the most similar key.
    """
    path = path.removesuffix(".")
    schema, steps = schema_file.load(), read_path(path)
    defaults = schema_file.load(schema_file.DEFAULTS)
    try:
        key = _follow(schema, steps)
    except UsageError:
        end = steps[1:] if steps[0] == "spec" and not path.startswith("spec") else steps
        keys = [*_keys_that_end(schema, end)]
        if len(keys) > 1:
            table = columns([(_name(key.path), first_sentence(key.node)) for key in keys])
            return f"{len(keys)} keys end with {path}:\n\n{_indented(table)}"
        texts = [_explanation(schema, key, width) for key in keys]
        if end[0] in defaults["properties"].keys() - schema["properties"].keys():
            with suppress(UsageError):
                text = _explanation(defaults, _follow(defaults, end), width)
                texts.append(f"In tfgen.yaml:\n\n{text}" if keys else text)
        if not texts:
            raise
        return "\n\n".join(texts)
    return _explanation(schema, key, width)


def explain_at(path: Sequence[str | int], name: str) -> str:
    """Return the explanation of a key of job.yaml or tfgen.yaml as text.

    Args:
        path: the complete path of the key.
        name: the file name of the schema that has the key, such as `defaults.v1alpha1.schema.json` for a tfgen.yaml.

    Raises:
        UsageError: the schema does not have the key. The message suggests the most similar key.
    """
    schema = schema_file.load(name)
    return _explanation(schema, _follow(schema, path), WIDTH)


def _explanation(schema: Schema, key: _Key, width: int) -> str:
    paragraphs = ["\n".join(_facts(key)), _indented(textwrap.fill(key.node["description"], width))]
    for example in key.node.get("examples", ()):
        text = dump({key.path[-1]: example} if key.path else example)
        paragraphs.append(f"Example:\n\n{_indented(text.rstrip())}")
    paragraphs += _table(schema, key)
    return "\n\n".join(paragraphs) + "\n"


_MAX_DEPTH: Final = 6
"""Maximum number of keys in a path that `_keys_that_end` searches."""


def _keys_that_end(schema: Schema, steps: Sequence[str | int]) -> Iterator[_Key]:
    """Yield the schema keys whose paths end with the given steps. Keys below `spec.environments` are left out."""
    keys = [_Key((), schema, tunable=False)]
    while keys:
        key = keys.pop(0)
        if key.path[-len(steps) :] == tuple(steps):
            yield key
        if len(key.path) < _MAX_DEPTH and key.path[1:2] != ("environments",):
            node = items_of(schema, key.node)
            names = node.get("properties", ("NAME",) if isinstance(node.get("additionalProperties"), Mapping) else ())
            keys += (_child(schema, key, name) for name in names)


def _follow(schema: Schema, steps: Sequence[str | int]) -> _Key:
    """Return the key at the complete path `steps` of the schema.

    Raises:
        UsageError: the schema does not have the key.
    """
    key = _Key((), schema, tunable=False)
    for step in steps:
        key = _child(schema, key, step)
    return key


def _child(schema: Schema, key: _Key, step: str | int) -> _Key:
    if isinstance(step, int):
        if "items" not in key.node:
            raise UsageError(f"{_name(key.path)} is not a list, so it has no item {shown(step)}")
        return key
    parent = items_of(schema, key.node)
    node = entry(schema, parent, step)
    if node is None:
        hint = hint_for_key(step, parent, schema, key.path).text if is_record(parent) else ", which is not a mapping"
        raise UsageError(f"unknown key {shown(step)} in {_name(key.path)}{hint}")
    return _Key((*key.path, step), node, node.get("x-tunable", key.tunable), step in parent.get("required", ()))


def items_of(schema: Schema, node: Schema) -> Schema:
    """Return the schema of the items if `node` is the schema of a list, and `node` itself for any other value.

    A field of Kubernetes, which may be a list or a mapping of any depth, is no list.
    """
    while "items" in node and "object" not in node.get("type", ()):
        node = entry(schema, node, 0) or {}
    return node


def _name(path: tuple[str, ...]) -> str:
    return path_name(path) if path else "job.yaml"


def _facts(key: _Key) -> Iterator[str]:
    node = key.node
    yield f"{_name(key.path)}: {type_of(node)}"
    if "x-pattern-says" in node and node.get("x-kind") != "quantity":
        yield f"Allowed: {node['x-pattern-says']}"
    if "oneOf" in node:
        yield f"Exactly one of: {either(choices(node))}"
    if key.required:
        yield "Required: yes"  # a required key may have a default in the schema, but only for values.yaml of the chart
    elif "default" in node:
        yield f"Default: {json.dumps(node['default'])}"
    if _has_tunable_line(key):
        yield f"Tunable: {_TUNABLE[key.tunable]}"


_TUNABLE = {
    True: "yes, the user of the chart and each environment may set the key",
    False: "no, the value is the same in every environment",
}


def _has_tunable_line(key: _Key) -> bool:
    """Return whether the explanation of a key has the line "Tunable: yes" or "Tunable: no".

    A mapping with fixed keys has no such line, because each of its keys has this line. A key of an environment has no
    such line either, because every key of an environment is tunable.
    """
    return key.path[:1] == ("spec",) and key.path[1:2] != ("environments",) and not is_record(key.node)


def type_of(node: Schema) -> str:
    """Return the type of a value in words."""
    if "const" in node:
        return f"always {node['const']}"
    return "a map by name" if json_types(node) == ["object"] and not is_record(node) else expected(node)


def short_type_of(node: Schema) -> str:
    """Return the type of a value in words, for a table."""
    return "a quantity" if node.get("x-kind") == "quantity" else type_of(node)


def _table(schema: Schema, parent: _Key) -> Iterator[str]:
    """Yield a table of the keys below the key `parent` as text. Yield nothing if no key is below `parent`.

    For a map or a list, the table has the keys of each entry.
    """
    node, heading = parent.node, "Keys:"
    if not is_record(node):
        entries = items_of(schema, node) if "items" in node else entry(schema, node, "")
        node, heading = entries or {}, "Keys of each entry:"
    rows = [("KEY", "TYPE", "DEFAULT", "TUNABLE", "")]
    record = _Key(parent.path, node, parent.tunable)
    rows += (_row(_child(schema, record, name)) for name in node.get("properties", ()))
    if len(rows) > 1:
        yield f"{heading}\n\n{_indented(columns(rows).rstrip())}"


def _row(key: _Key) -> tuple[str, str, str, str, str]:
    node = key.node
    default = "required" if key.required else json.dumps(node["default"]) if "default" in node else ""
    tunable = ("no", "yes")[key.tunable] if _has_tunable_line(key) else ""
    return (key.path[-1], short_type_of(node), default, tunable, first_sentence(node))


def _indented(text: str) -> str:
    return textwrap.indent(text, "  ")


# -- completions -------------------------------------------------------------------------------------------------------


ANY_NAME: Final = "NAME"
"""Placeholder for the name of a map entry, if no job has an entry in this map."""


class Completion(NamedTuple):
    """A completion of a word.

    Attributes:
        path: the completed word, such as `spec.roles.worker.`.
        text: the first sentence of the key's description.
    """

    path: str
    text: str = ""


def complete_key(word: str) -> Iterator[Completion]:
    """Yield the key paths of job.yaml that begin with a word. For a name that the user chooses, the path has NAME."""
    for path, node in _keys_with(word, ()):
        yield Completion(f"{path}." if keys_below(node, ()) else path, first_sentence(node))


def complete_assignment(word: str, documents: Sequence[Document]) -> Iterator[Completion]:
    """Yield completions for an argument such as `retries=3`. After the `=`, the completions are the allowed values.

    Args:
        word: the incomplete argument.
        documents: the jobs on the command line. The completions include names in these jobs, such as names of volumes.
    """
    path, equals, value = word.partition("=")
    if equals:
        node = _node(path)
        values = () if node is None else allowed_values(node)
        yield from (Completion(f"{path}={choice}") for choice in values if choice.startswith(value))
        return
    for path, node in _keys_with(word, documents):
        has_keys = "items" not in node and (is_record(node) or "additionalProperties" in node)
        yield Completion(f"{path}{'.' if has_keys else '='}", first_sentence(node))


def _keys_with(word: str, documents: Sequence[Document]) -> Iterator[tuple[str, Schema]]:
    """Yield the path of each key that begins with a word, with the JSON schema of the key.

    A word without a parent also begins the top-level keys of job.yaml and the keys of `spec`.
    """
    parent, _, beginning = word.rpartition(".")
    schema, node = schema_file.load(), _node(parent)
    keys = [*keys_below(node, [data_path.at(document.data, _steps(parent)) for document in documents])] if node else []
    if not parent:
        keys += keys_below(entry(schema, schema, "spec") or {}, ())
    for key, child in keys:
        if key.startswith(beginning):
            yield f"{parent}.{key}" if parent else key, child


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
    node = items_of(schema, node)
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
        node = None if node is None else entry(schema, items_of(schema, node), step)
    return node


def allowed_values(node: Schema) -> Sequence[str]:
    """Return the allowed values in a part of the JSON schema. The result is empty if the schema allows other values."""
    if "const" in node:
        return [str(node["const"])]
    if "enum" in node:
        return [choice for choice in node["enum"] if isinstance(choice, str) and choice]
    return ("true", "false") if "boolean" in json_types(node) else ()
