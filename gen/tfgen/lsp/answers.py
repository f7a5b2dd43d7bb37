"""Answers about the key at a cursor: its explanation, the place that sets its value, and completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

from tfgen import data_path
from tfgen.check.fixes import Analysis, is_defaults
from tfgen.check.source import IGNORABLE
from tfgen.data_path import Path
from tfgen.errors import Place, UsageError
from tfgen.graph.helper_pods import TENSORBOARD
from tfgen.job.facts import origins
from tfgen.job.sources import names_registry
from tfgen.lsp.places import Cursor, Spot
from tfgen.rails.enforce import REGISTRY, Enforced, all_enforced, enforced_values
from tfgen.schema import file as schema_file
from tfgen.schema.file import first_sentence
from tfgen.schema.keys import ANY_NAME, allowed_values, explain_at, keys_below
from tfgen.text.document import Document
from tfgen.text.yaml_text import in_line
from tfgen.words import count, path_name, shown

_MOST = 12
"""Maximum number of inherited values in a hover, because a hover is small."""


def explain_key(analysis: Analysis, cursor: Cursor) -> str | None:
    """Return the text of `tfgen explain` for a key, with the inherited values; None for an unknown key."""
    schema = schema_file.DEFAULTS if is_defaults(analysis.source.file) else schema_file.NAME
    try:
        text = explain_at(cursor.path, schema)
    except UsageError:
        return None
    lines = [f"  {line}\n" for line in _inherited(analysis, cursor)]
    hidden = f"  and {count(len(lines) - _MOST, 'more value')}\n" if len(lines) > _MOST else ""
    return f"{text}\nInherited:\n\n{''.join(lines[:_MOST])}{hidden}" if lines else text


def _inherited(analysis: Analysis, cursor: Cursor) -> Iterator[str]:
    document = analysis.accepted_at(cursor.root)
    if document is None or is_defaults(document.file) or cursor.path[:1] != ("spec",):
        return
    environment, path = split_environment(cursor.path)
    for origin in origins(document, environment):
        if origin.path[: len(path)] == path and origin.place and origin.place.file != document.file:
            yield f"{path_name(origin.path)}: {shown(origin.value)}, from {origin}"
        elif origin.path == path and origin.registry:
            yield f"{path_name(origin.path)}: {shown(origin.value)}, registry of {origin.registry}"


def split_environment(path: Path) -> tuple[str | None, Path]:
    """Split a path inside an environment into the name of the environment and the path in the job.

    Example: ("spec", "environments", "dev", "retries") gives ("dev", ("spec", "retries")). For any other path, return
    None and the unchanged path.
    """
    match path:
        case ("spec", "environments", environment, *steps):
            return str(environment), ("spec", *steps)
    return None, path


def set_or_enforced(document: Document, path: Path) -> list[Place]:
    """Return the lines that set or enforce a value, except for the line at `path` itself. The nearest file is first.

    Args:
        document: a document without schema errors, with the defaults from each tfgen.yaml.
        path: the path of the value in the document.
    """
    keys = tuple(takewhile(lambda step: isinstance(step, str), path))
    entries = (entry for entry in all_enforced(document.under) if entry.path != REGISTRY)
    enforcing = [entry.place for entry in entries if _covers(document, entry, keys)]
    return [*dict.fromkeys((*_setting(document, keys), *enforcing, *_registry(document, path)))]


def _setting(document: Document, path: Path) -> Iterator[Place]:
    _, of_job = split_environment(path)
    for depth, layer in enumerate(document.layers()):
        for candidate in dict.fromkeys((path, of_job)):
            if (depth or candidate != path) and len(candidate) > 1 and data_path.has(layer.data, candidate):
                yield Place(layer.file, layer.key(candidate))


def _covers(document: Document, enforced: Enforced, path: Path) -> bool:
    """Test whether the entry `enforced` of a tfgen.yaml enforces `path`, a parent of `path` or a key below `path`.

    An entry for a parent does not apply to the exceptions of the entry.
    """
    if len(path) <= 1:
        return False
    for form, _ in enforced_values(document.alone().data, enforced):
        keys_of_form = path[len(form) :]
        is_excepted = any(keys == keys_of_form[: len(keys)] for keys in enforced.excepted or ())
        if form[: len(path)] == path or (path[: len(form)] == form and not is_excepted):
            return True
    return False


def _registry(document: Document, path: Path) -> Iterator[Place]:
    """Yield the lines in a tfgen.yaml that set or enforce the registry of the image at `path`.

    For a field other than an image, yield nothing. A default registry does not apply to an image that contains a
    registry.
    """
    image = data_path.at(document.alone().data, path)
    if path[-1:] != ("image",) or not isinstance(image, str) or document.under is None:
        return
    if not names_registry(image) and data_path.has(document.under.data, REGISTRY):
        yield document.under.place(REGISTRY)
    yield from (enforced.place for enforced in all_enforced(document.under) if enforced.path == REGISTRY)


_ENVIRONMENTS: Path = ("spec", "environments")


class Choice(NamedTuple):
    """A completion that the editor proposes: a key or a value.

    Attributes:
        name: the key or the value, as the editor lists the completion.
        text: the text that the editor inserts, such as `image: ` for the key `image`.
        summary: the first sentence of the key's description; empty for a value.
    """

    name: str
    text: str
    summary: str = ""


def complete(spot: Spot, document: Document | None, schema: str) -> list[Choice]:
    """Return the completions at the cursor, in the order of the schema.

    Args:
        spot: the key or the value that the user types at the cursor.
        document: the document with its defaults, for the names of roles and volumes; None if no earlier text of the
            file was valid YAML.
        schema: the name of the schema of the file.
    """
    node = schema_file.node(schema_file.load(schema), spot.path)
    if node is None:
        return []
    if spot.is_value:
        names = _names_of_value(spot.path, document) or [*allowed_values(node)]
        if names or spot.is_flow or not isinstance(spot.path[-1], int):
            return [Choice(name, in_line(name) if name in node.get("enum", ()) else name) for name in names]
    return [*_keys(spot, document, schema, node)]


def _keys(spot: Spot, document: Document | None, schema: str, node: schema_file.Schema) -> Iterator[Choice]:
    present = data_path.at(document.alone().data, spot.path) if document else None
    keys = present if isinstance(present, Mapping) else {}
    taken = {key for key in keys if not (spot.word and key.startswith(spot.word))}
    roles = _roles(document) if spot.path[3:] == ("roles",) and spot.path[:2] == _ENVIRONMENTS else ()
    for key, child in keys_below(node, [_names_of_map(spot.path, document)], schema):
        if key != ANY_NAME and key not in taken and (not roles or key in roles):
            is_scalar = not ({"properties", "additionalProperties", "items"} & child.keys())
            colon = "" if spot.has_colon else ": " if is_scalar or spot.is_flow else ":"
            yield Choice(key, f"{in_line(key, is_flow=spot.is_flow)}{colon}", first_sentence(child))


def _names_of_map(path: Path, document: Document | None) -> Mapping[str, Any]:
    """Return a mapping whose keys are the names that the user may type at `path`. The caller ignores the values.

    For example, below `roles` of an environment, the names are the roles of the job.
    """
    if path == ("rules",):
        return dict.fromkeys(sorted(IGNORABLE))
    environment, of_job = split_environment(path)
    names = {} if environment is None else _mapping(document, of_job)
    if path == _ENVIRONMENTS and document is not None:
        layers = [layer.data.get("allowedEnvironments") for layer in document.layers() if isinstance(layer.data, dict)]
        names = dict.fromkeys(name for allowed in layers if isinstance(allowed, list) for name in allowed)
    return {**names, **_mapping(document, path)}


def _names_of_value(path: Path, document: Document | None) -> list[str]:
    """Return the names of roles, volumes or environments that are possible values at a path."""
    match path:
        case (*_, "storage", str(), "for", int()):
            roles = _roles(document)
            return [*roles, TENSORBOARD] if roles else []
        case (*_, "targetReplicatedJobs", int()):
            return _roles(document)
        case (*_, "volumeMounts", int(), "name"):
            return [*_mapping(document, ("spec", "storage"))]
        case ("allowedEnvironments", int()):
            return [*_mapping(document, _ENVIRONMENTS)]
    return []


def _roles(document: Document | None) -> list[str]:
    return [*_mapping(document, ("spec", "roles"))]


def _mapping(document: Document | None, path: Path) -> Mapping[str, Any]:
    """Return the mapping at a path of a document; empty if the document has no mapping at the path."""
    value = data_path.at(document.data, path) if document else None
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else {}
