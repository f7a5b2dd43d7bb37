"""`tfgen explain`: explain a key of job.yaml by the job schema, and a rule by its section of docs/rules.md.

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
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from tfgen.errors import UsageError
from tfgen.schema import file as schema_file
from tfgen.schema.file import entry, first_sentence, is_record, read_path
from tfgen.schema.hints import choices, expected, hint_for_key, json_types
from tfgen.text.yaml_text import dump
from tfgen.words import columns, either, path_name, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfgen.schema.file import Schema


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
            return _list(path, keys)
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
    paragraphs += _examples(key)
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
            node = _items(schema, key.node)
            names = node.get("properties", ("NAME",) if isinstance(node.get("additionalProperties"), Mapping) else ())
            keys += (_child(schema, key, name) for name in names)


def _list(path: str, keys: Sequence[_Key]) -> str:
    """Return a text with a line for each key: the path, and the first sentence of the description.

    All keys end with the path `path`.
    """
    table = columns([(_name(key.path), first_sentence(key.node)) for key in keys])
    return f"{len(keys)} keys end with {path}:\n\n{_indented(table)}"


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
    parent = _items(schema, key.node)
    node = entry(schema, parent, step)
    if node is None:
        hint = hint_for_key(step, parent, schema, key.path).text if is_record(parent) else ", which is not a mapping"
        raise UsageError(f"unknown key {shown(step)} in {_name(key.path)}{hint}")
    return _Key((*key.path, step), node, node.get("x-tunable", key.tunable), step in parent.get("required", ()))


def _items(schema: Schema, node: Schema) -> Schema:
    """Return the schema of the items if `node` is the schema of a list, and `node` itself for any other value."""
    while "items" in node and "properties" not in node and "additionalProperties" not in node:
        node = entry(schema, node, 0) or {}
    return node


def _name(path: tuple[str, ...]) -> str:
    return path_name(path) if path else "job.yaml"


def _facts(key: _Key) -> Iterator[str]:
    node = key.node
    yield f"{_name(key.path)}: {_type(node)}"
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


def _type(node: Schema) -> str:
    if "const" in node:
        return f"always {node['const']}"
    return "a map by name" if json_types(node) == ["object"] and not is_record(node) else expected(node)


def _examples(key: _Key) -> Iterator[str]:
    for example in key.node.get("examples", ()):
        text = dump({key.path[-1]: example} if key.path else example)
        yield f"Example:\n\n{_indented(text.rstrip())}"


def _table(schema: Schema, parent: _Key) -> Iterator[str]:
    """Yield a table of the keys below the key `parent` as text. Yield nothing if no key is below `parent`.

    For a map or a list, the table has the keys of each entry.
    """
    node, heading = parent.node, "Keys:"
    if not is_record(node):
        node, heading = _entries(schema, node), "Keys of each entry:"
    rows = [("KEY", "TYPE", "DEFAULT", "TUNABLE", "")]
    record = _Key(parent.path, node, parent.tunable)
    rows += (_row(_child(schema, record, name)) for name in node.get("properties", ()))
    if len(rows) > 1:
        yield f"{heading}\n\n{_indented(columns(rows).rstrip())}"


def _entries(schema: Schema, node: Schema) -> Schema:
    """Return the schema of the entries of a map, or of the items of a list."""
    return (_items(schema, node) if "items" in node else entry(schema, node, "")) or {}


def _row(key: _Key) -> tuple[str, str, str, str, str]:
    node = key.node
    default = "required" if key.required else json.dumps(node["default"]) if "default" in node else ""
    tunable = ("no", "yes")[key.tunable] if _has_tunable_line(key) else ""
    return (key.path[-1], "a quantity" if node.get("x-kind") else _type(node), default, tunable, first_sentence(node))


def _indented(text: str) -> str:
    return textwrap.indent(text, "  ")
