"""Reads the published schemas, and finds the node of a path.

    >>> node(load(), ("spec", "roles", "worker", "replicas"))["maximum"]
    10000

The schemas are JSON Schema draft-07. Validators of draft-07 ignore keywords next to a `$ref`, so only description,
default, examples and x-tunable are next to a `$ref`. tfgen prefers these keywords to the keywords of the target, so
that properties with different descriptions can share one definition.
"""

from __future__ import annotations

import functools
import json
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.errors import UsageError
from tfgen.words import shown

Schema = Mapping[str, Any]

NAME = "trainingjob.v1alpha1.schema.json"
"""The file name of the schema of a job."""
DEFAULTS = "defaults.v1alpha1.schema.json"
"""The file name of the schema of a layer (tfgen.yaml)."""


def path(name: str = NAME) -> pathlib.Path:
    """Return the path of a schema file: inside the installed package, or in the checkout.

    An editable install has no copy inside the package. `importlib.resources` would find the same two paths and take 6
    ms more at each start.
    """
    package = pathlib.Path(__file__).parent.parent
    installed = package / "schemas" / name
    return installed if installed.exists() else package.parent.parent / "schemas" / name


def text(name: str = NAME) -> str:
    """Return the text of a published schema."""
    return path(name).read_text(encoding="utf-8")


def load(name: str = NAME) -> Schema:
    """Return a schema as data. The data is cached and shared, so callers must not change it."""
    return _load(name)


@functools.cache  # the cache has separate entries for `load()` and `load(NAME)`
def _load(name: str) -> Schema:
    schema: Schema = json.loads(text(name))
    return schema


def resolve(schema: Schema, node: Schema) -> Schema:
    """Return a copy of a node, in which the keywords of the target replace the `$ref`.

    Keywords next to the `$ref` override the keywords of the target.
    """
    while "$ref" in node:
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        node = {**target(schema, node["$ref"]), **siblings}
    return node


def target(schema: Schema, ref: str) -> Schema:
    """Return the target of a reference `#/definitions/NAME`. The schemas use only such local references."""
    node: Schema = data_path.follow(schema, ref.removeprefix("#/").split("/"))
    return node


def is_record(node: Schema) -> bool:
    """Test whether a resolved node describes a mapping with fixed keys, and not a mapping with names as keys."""
    return node.get("type") == "object" and "properties" in node


def entry(schema: Schema, node: Schema, key: str | int) -> Schema | None:
    """Return the resolved schema of a value in a mapping or list; None for a key that the schema does not have.

    Args:
        schema: the whole schema, with the definitions.
        node: the resolved schema of the mapping or list.
        key: the key of the value in the mapping, or the index of the value in the list.
    """
    if isinstance(key, int):
        child = node.get("items")
    else:
        child = node.get("properties", {}).get(key) or node.get("additionalProperties")
    return resolve(schema, child) if isinstance(child, dict) else None


def node(schema: Schema, path: Sequence[str | int]) -> Schema | None:
    """Return the resolved schema of the value at `path` in a document; None for a path without a schema."""
    current: Schema | None = schema
    for key in path:
        if current is None:
            return None
        current = entry(schema, current, key)
    return current


def complete(schema: Schema, node: Schema, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the mapping `value`, in which the missing keys have the defaults of the resolved node `node`.

    A missing record without a default remains missing. A record is a mapping with fixed keys.
    """
    completed: dict[str, Any] = {}
    for key in node["properties"]:
        child = entry(schema, node, key) or {}
        if key in value:
            completed[key] = complete(schema, child, value[key]) if is_record(child) else value[key]
        elif "default" in child:
            completed[key] = child["default"]
    return completed


def used_definitions(root: Schema, definitions: Schema) -> dict[str, Any]:
    """Return the definitions to which `root` refers directly or indirectly, as a mapping sorted by name."""
    used: dict[str, Any] = {}
    waiting = [root]
    while waiting:
        # A nested definition, such as `#/definitions/environment/definitions/env`, is part of `environment`.
        for name in re.findall(r'"\$ref": "#/definitions/([^"/]+)', json.dumps(waiting.pop())):
            if name not in used:
                used[name] = definitions[name]
                waiting.append(used[name])
    return dict(sorted(used.items()))


def first_sentence(node: Schema) -> str:
    """Return the first sentence of the description in a schema node; empty without a description."""
    description: str = node.get("description", "")
    head, stop, _ = description.partition(". ")
    return head + stop.strip()


# -- paths of a job, as users write them -------------------------------------------------------------------------------


_STEP: Final = re.compile(r"""\.?(?P<key>[^.\[\]"=]+)|\[(?P<written>[0-9]+|"(?:[^"\\]|\\["\\])+")\]""")
"""Pattern of one step of a path: a key, a quoted key or an index."""


def read_path(text: str) -> Path:
    """Parse a path. The prefix `spec.` is optional.

    Raises:
        UsageError: the text is not a path.
    """
    path, end = _read_steps(text)
    if end != len(text) or text.startswith("."):
        raise UsageError(f"{shown(text)} is not a path; a path has the form spec.tolerations[0].key")
    return path


def read_assignment(text: str) -> tuple[Path, str]:
    """Parse an assignment. Return the path and the text of the value.

    For example, return ``(("spec", "roles", "worker", "replicas"), "4")`` for `roles.worker.replicas=4`.

    Raises:
        UsageError: the text is not an assignment.
    """
    path, end = _read_steps(text)
    if not path or text.startswith(".") or text[end : end + 1] != "=":
        raise UsageError(f"{shown(text)} is not an assignment; write PATH=VALUE, such as roles.worker.replicas=4")
    return path, text[end + 1 :]


def _read_steps(text: str) -> tuple[Path, int]:
    """Parse the path at the start of a text. Return the path, and the index of the first character after the path.

    For example, return ``(("spec", "retries"), 7)`` for `retries=2`.
    """
    steps: list[str | int] = []
    end = 0
    while match := _STEP.match(text, end):
        end = match.end()
        steps.append(match["key"] or json.loads(match["written"]))
    is_below = steps and isinstance(steps[0], str) and steps[0] not in load()["properties"]
    return ("spec", *steps) if is_below else tuple(steps), end


# -- the order in which tfgen writes the keys --------------------------------------------------------------------------


INIT_ORDER: Final = (
    "strategy",
    "legacyFlags",
    "legacyVariables",
    "workload",
    "run",
    "resumeFrom",
    "image",
    "imagePullPolicy",
    "imagePullSecrets",
    "command",
    "args",
    "workingDir",
    "port",
    "roles",
    "env",
    "envFrom",
    "storage",
    "shm",
    "gang",
    "completion",
)
"""The first keys of ``spec``, in order. The remaining keys follow in the order of the schema."""

_LAST: Final = ("outputs", "environments", "gitops")
_OF_ENVIRONMENT: Final = ("namespace", "cluster", "enabled")


def key_order(path: Path, schema: str = NAME) -> tuple[str, ...] | None:
    """Return the allowed keys of a mapping in a document, in the order in which tfgen writes the keys.

    Args:
        path: the path of the mapping.
        schema: the name of the document's schema: the schema of a job or of a layer.

    Returns:
        The keys. None for a mapping whose keys are names, such as `env`, because the author determines the order of the
            names.
    """
    found = node(load(schema), path)
    if found is None or not is_record(found):
        return None
    keys = found["properties"]
    if path == ("spec",) or (path[:2] == ("spec", "environments") and len(path) == 3):
        order = dict.fromkeys((*_OF_ENVIRONMENT, *INIT_ORDER, *(key for key in keys if key not in _LAST), *_LAST))
        return tuple(key for key in order if key in keys)
    return tuple(keys)
