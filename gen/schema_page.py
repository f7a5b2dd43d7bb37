"""Write docs/job-reference.md and docs/tfgen-reference.md from the schemas: `make cli`.

Each page describes the keys of a schema, with an example of each top-level key.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tfgen.commands.line_origin.pages import page_of_key
from tfgen.schema import file as schema_file
from tfgen.schema.file import Schema, entry, is_record, resolve
from tfgen.schema.keys import short_type_of
from tfgen.text.yaml_text import dump

DOCS: Final = Path(__file__).parents[1] / "docs"
PAGES: Final[Mapping[str, str]] = {
    "job-reference.md": schema_file.NAME,
    "tfgen-reference.md": schema_file.DEFAULTS,
}
"""The name of each page, and the name of its schema."""

_WIDTH: Final = 120
_ENVIRONMENTS: Final = "environments"
_SPEC: Final = "spec"

_JOB: Final = """\
# Keys of job.yaml

`make cli` writes this page from [the schema](../schemas/trainingjob.v1alpha1.schema.json). `tfgen explain PATH` prints
the section of a single key.

A tunable key may differ in each environment, and a user of the chart may set it. `NAME` is a name of your choice, and
`[]` is an item of a list. Each section begins with an example.

A job has the keys `apiVersion`, `kind`, `metadata` and `spec`:

```yaml
{example}```
"""

_DEFAULTS: Final = """\
# Keys of tfgen.yaml

`make cli` writes this page from [the schema](../schemas/defaults.v1alpha1.schema.json). `tfgen schema --defaults`
prints the schema.

Each `tfgen.yaml` is a [layer](gitops.md#an-empty-repository): it applies to the jobs in its folder and subfolders.
`NAME` is a name of your choice, and `[]` is an item of a list. Each section begins with an example. The keys of `spec`
are those of [job.yaml](job-reference.md).
"""


def page(name: str) -> str:
    """Return a page by its name."""
    schema = schema_file.load(PAGES[name])
    if PAGES[name] == schema_file.DEFAULTS:
        return "\n".join([_DEFAULTS, *(_section(schema, (key,)) for key in schema["properties"])])
    head = _JOB.format(example=dump(schema["examples"][0]))
    owner = resolve(schema, schema["properties"][_SPEC])
    paths = [("metadata",), *((_SPEC, key) for key in owner["properties"])]
    return "\n".join([head, *(_section(schema, path) for path in paths)])


def _section(schema: Schema, path: Sequence[str]) -> str:
    node = schema_file.node(schema, path) or {}
    owner = schema_file.node(schema, path[:-1]) or {}
    key = Key(path[-1], node, bool(node.get("x-tunable")), path[-1] in owner.get("required", ()))
    facts = [f"Type: {short_type_of(node)}."]
    if "x-pattern-says" in node and node.get("x-kind") != "quantity":
        facts.append(f"Allowed: {node['x-pattern-says']}.")
    if default_of(key):
        facts.append("Required." if key.is_required else f"Default: {default_of(key)}.")
    if path[0] == _SPEC and len(path) > 1 and not is_record(node) and path[-1] != _ENVIRONMENTS:
        facts.append("Tunable." if key.is_tunable else "Not tunable.")
    link = page_of_key(tuple(path)) if path[0] == _SPEC and len(path) > 1 else None
    texts = [textwrap.fill(node["description"], _WIDTH), f"```yaml\n{dump(_example(path, node))}```", " ".join(facts)]
    if link:
        texts.append(f"See [{link.removeprefix('docs/')}]({link.removeprefix('docs/')}).")
    if path[-1] not in (_ENVIRONMENTS, _SPEC):
        texts += _table(schema, key)
    return f"## `{path[-1]}`\n\n" + "\n\n".join(texts) + "\n"


def _example(path: Sequence[str], node: Schema) -> Any:
    example = node["examples"][0] if node.get("examples") else node["const"]
    for step in reversed(path):
        example = {step: example}
    return example


def _table(schema: Schema, parent: Key) -> list[str]:
    keys = list(keys_below(schema, parent))
    if not keys:
        return []
    shows_tunable = any("x-tunable" in key.node for key in keys)
    names = ["Key", "Type", "Default", *(["Tunable"] if shows_tunable else []), "Meaning"]
    lines = [_row(names), _row(["---"] * len(names))]
    for key in keys:
        tunable = "" if is_record(key.node) else ("no", "yes")[key.is_tunable]
        cells = [f"`{key.path}`", short_type_of(key.node), default_of(key), *([tunable] if shows_tunable else [])]
        lines.append(_row([*cells, key.node.get("description", "")]))
    return ["\n".join(lines)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


# -- the keys below a key ----------------------------------------------------------------------------------------------


_DEEPEST: Final = 8
"""Maximum number of keys and items in a path. The schema of free values, as in `objects`, refers to itself."""


class Key(NamedTuple):
    """A key of a schema: its path, its resolved node, and whether the key is tunable and required."""

    path: str
    node: Schema
    is_tunable: bool
    is_required: bool


def keys_below(schema: Schema, parent: Key) -> Iterator[Key]:
    """Yield the keys below a key in the order of the schema, each followed by the keys below it.

        keys_below(schema, ("gang",), node)  ->  Key("gang.scheduler", ...), Key("gang.queue", ...)

    In a path, `NAME` is any name of a map, and `[]` is any item of a list.
    """
    path, owner = parent.path, parent.node
    while not is_record(owner):
        if path.count(".") + path.count("[]") > _DEEPEST:
            return
        child = entry(schema, owner, 0 if "items" in owner else "NAME")
        if child is None:
            return
        path, owner = f"{path}[]" if "items" in owner else f"{path}.NAME", child
    for name in owner["properties"]:
        node = entry(schema, owner, name) or {}
        is_tunable = node.get("x-tunable", parent.is_tunable)
        key = Key(f"{path}.{name}", node, is_tunable, name in owner.get("required", ()))
        yield key
        yield from keys_below(schema, key)


def default_of(key: Key) -> str:
    """Return the default of a key as JSON, `required`, or an empty text."""
    if key.is_required:
        return "required"
    return f"`{json.dumps(key.node['default'])}`" if "default" in key.node else ""


if __name__ == "__main__":
    for name in PAGES:
        (DOCS / name).write_text(page(name), encoding="utf-8")
