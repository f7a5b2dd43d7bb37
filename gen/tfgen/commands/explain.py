"""What a key of job.yaml means: type, default, example and text, read off the job schema.

    >>> print(explain("spec.roles.worker.replicas"), end="")
    spec.roles.worker.replicas: an integer from 1 to 10000
    Default: 1
    Tunable: yes, a chart's user and each environment may set it
    <BLANKLINE>
      Number of tasks.
    <BLANKLINE>
    Example:
    <BLANKLINE>
      replicas: 4

A path is said as in the file, with or without `spec.` in front, or as in a problem (`spec.tolerations[0].effect`,
`spec.labels["example.com/team"]`). Any name does for an entry of a map by name (`spec.storage.NAME.claim`), and any
number, or none, for a list's item (`spec.tolerations.effect`).
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from tfgen.errors import UsageError
from tfgen.schema import file as schema_file
from tfgen.schema.file import entry, first_sentence, is_record
from tfgen.schema.hints import choices, expected, hint_for_key, json_types
from tfgen.schema.job_path import read_path
from tfgen.text.yaml_text import dump
from tfgen.words import either, path_name, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfgen.schema.file import Schema

WIDTH: Final = 100
"""Columns, of which more are no easier to read."""


class _Found(NamedTuple):
    """A key of the schema: its path, its resolved node, whether it is tunable, and whether it must be said."""

    path: tuple[str, ...]
    node: Schema
    tunable: bool
    required: bool = False


def explain(path: str, width: int = WIDTH) -> str:
    """The explanation of one key, some lines of text; of the whole document for an empty path.

    A key of tfgen.yaml alone is known too. Where no path begins so, the end of one does; of several keys with that end
    there is a list. A dot at the end, where a path could go on, says nothing.

    Args:
        path: as it is written.
        width: of the description, in columns.

    Raises:
        UsageError: the schema knows no such key; the message has the nearest one.
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
        of_job = "".join(_explanation(schema, key, width) for key in keys)
        if end[0] not in defaults["properties"].keys() - schema["properties"].keys():
            if keys:
                return of_job
            raise
        try:
            of_defaults = _explanation(defaults, _follow(defaults, end), width)
        except UsageError:
            if keys:
                return of_job
            raise
        return f"{of_job}\n\nIn tfgen.yaml:\n\n{of_defaults}" if keys else of_defaults
    return _explanation(schema, key, width)


def explain_at(path: Sequence[str | int], name: str = schema_file.NAME, width: int = WIDTH) -> str:
    """Return the explanation of the key at a path of one schema.

    Raises:
        UsageError: the schema knows no such key; the message has the nearest key.
    """
    schema = schema_file.load(name)
    return _explanation(schema, _follow(schema, path), width)


def _explanation(schema: Schema, key: _Found, width: int) -> str:
    paragraphs = ["\n".join(_facts(key)), _indented(textwrap.fill(key.node["description"], width))]
    paragraphs += _examples(key)
    paragraphs += _table(schema, key)
    return "\n\n".join(paragraphs) + "\n"


_DEEPEST: Final = 6
"""Keys of a path that is looked for by its end."""


def _keys_that_end(schema: Schema, steps: Sequence[str | int]) -> Iterator[_Found]:
    """The keys of a job whose paths end so, but for those of its environments, which are the same again."""
    keys = [_Found((), schema, tunable=False)]
    while keys:
        key = keys.pop(0)
        if key.path[-len(steps) :] == tuple(steps):
            yield key
        if len(key.path) < _DEEPEST and key.path[1:2] != ("environments",):
            owner = _items(schema, key.node)
            names = owner.get("properties", ("NAME",) if isinstance(owner.get("additionalProperties"), Mapping) else ())
            keys += (_inside(schema, key, name) for name in names)


def _list(path: str, keys: Sequence[_Found]) -> str:
    """The paths of some keys, with the first sentence on each."""
    names = [_name(key.path) for key in keys]
    width = max(map(len, names))
    lines = (f"{name:<{width}}  {first_sentence(key.node)}" for name, key in zip(names, keys, strict=True))
    body = "\n".join(lines)
    return f"{len(keys)} keys end with {path}:\n\n{_indented(body)}\n"


def _follow(schema: Schema, steps: Sequence[str | int]) -> _Found:
    """The key at a path of the document."""
    key = _Found((), schema, tunable=False)
    for step in steps:
        key = _inside(schema, key, step)
    return key


def _inside(schema: Schema, key: _Found, step: str | int) -> _Found:
    if isinstance(step, int):
        if "items" not in key.node:
            raise UsageError(f"{_name(key.path)} is no list, which {shown(step)} could be an item of")
        return key
    owner = _items(schema, key.node)
    node = entry(schema, owner, step)
    if node is None:
        hint = hint_for_key(step, owner, schema, key.path) if is_record(owner) else ", which has no keys"
        raise UsageError(f"unknown key {shown(step)} in {_name(key.path)}{hint}")
    return _Found((*key.path, step), node, node.get("x-tunable", key.tunable), step in owner.get("required", ()))


def _items(schema: Schema, node: Schema) -> Schema:
    """A list's items in place of the list."""
    while "items" in node and "properties" not in node and "additionalProperties" not in node:
        node = entry(schema, node, 0) or {}
    return node


def _name(path: tuple[str, ...]) -> str:
    return path_name(path) if path else "job.yaml"


def _facts(key: _Found) -> Iterator[str]:
    node = key.node
    yield f"{_name(key.path)}: {_type(node)}"
    if "x-pattern-says" in node and node.get("x-kind") != "quantity":
        yield f"Allowed: {node['x-pattern-says']}"
    if "oneOf" in node:
        yield f"Exactly one of: {either(choices(node))}"
    if key.required:
        yield "Required: yes"  # what stands for it in a chart of a job without it, nobody reads
    elif "default" in node:
        yield f"Default: {json.dumps(node['default'])}"
    if _says_tunable(key):
        yield f"Tunable: {_TUNABLE[key.tunable]}"


_TUNABLE = {
    True: "yes, a chart's user and each environment may set it",
    False: "no, it is the same in every environment",
}


def _says_tunable(key: _Found) -> bool:
    """Of a record its keys say it, and what an environment may say is tunable as a matter of course."""
    return key.path[:1] == ("spec",) and key.path[1:2] != ("environments",) and not is_record(key.node)


def _type(node: Schema) -> str:
    if "const" in node:
        return f"always {node['const']}"
    return "a map by name" if json_types(node) == ["object"] and not is_record(node) else expected(node)


def _examples(key: _Found) -> Iterator[str]:
    for example in key.node.get("examples", ()):
        text = dump({key.path[-1]: example} if key.path else example)
        yield f"Example:\n\n{_indented(text.rstrip())}"


def _table(schema: Schema, parent: _Found) -> Iterator[str]:
    """The keys of a mapping, or of each entry of a map or a list."""
    owner, heading = parent.node, "Keys:"
    if not is_record(owner):
        owner, heading = _entries(schema, owner), "Keys of each entry:"
    rows = [("KEY", "TYPE", "DEFAULT", "TUNABLE", "")]
    for key in owner.get("properties", ()):
        inner = _inside(schema, _Found(parent.path, owner, parent.tunable), key)
        rows.append(_row(inner))
    if len(rows) > 1:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
        body = "\n".join(lines)
        yield f"{heading}\n\n{_indented(body)}"


def _entries(schema: Schema, node: Schema) -> Schema:
    """What each entry of a map by name, or each item of a list, is."""
    return (_items(schema, node) if "items" in node else entry(schema, node, "")) or {}


def _row(key: _Found) -> tuple[str, str, str, str, str]:
    node = key.node
    default = "required" if key.required else json.dumps(node["default"]) if "default" in node else ""
    tunable = ("no", "yes")[key.tunable] if _says_tunable(key) else ""
    return (key.path[-1], "a quantity" if node.get("x-kind") else _type(node), default, tunable, first_sentence(node))


def _indented(text: str) -> str:
    return textwrap.indent(text, "  ")
