"""Complete the text at the cursor: propose the keys, values and names that the schema and the job allow.

complete(Spot(("spec", "gang"), ...), document)  # [Choice("scheduler", ...), Choice("queue", ...), ...]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tfgen import data_path
from tfgen.check.severities import WARNINGS
from tfgen.commands.authoring.complete import ANY_NAME, choices, keys_below
from tfgen.data_path import Path
from tfgen.graph.objects import tensorboard
from tfgen.lsp.hover import split_environment
from tfgen.lsp.spot import Spot
from tfgen.schema import file as schema_file
from tfgen.schema.file import first_sentence
from tfgen.text.document import Document
from tfgen.text.yaml_text import in_line

_ENVIRONMENTS: Path = ("spec", "environments")
_ROLES: Path = ("spec", "roles")
_STORAGE: Path = ("spec", "storage")


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
        names = _names_of_value(spot.path, document) or [*choices(node)]
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
            if spot.has_colon:
                yield Choice(key, in_line(key, is_flow=spot.is_flow), first_sentence(child))
                continue
            is_scalar = not ({"properties", "additionalProperties", "items"} & child.keys())
            written = in_line(key, is_flow=spot.is_flow)
            text = f"{written}: " if is_scalar or spot.is_flow else f"{written}:"
            yield Choice(key, text, first_sentence(child))


def _names_of_map(path: Path, document: Document | None) -> Mapping[str, Any]:
    """Return a mapping whose keys are the names that the user may type at `path`. The caller ignores the values.

    For example, below `roles` of an environment, the names are the roles of the job.
    """
    if path == ("rules",):
        return dict.fromkeys(sorted(WARNINGS))
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
            return [*roles, tensorboard.ROLE] if roles else []
        case (*_, "targetReplicatedJobs", int()):
            return _roles(document)
        case (*_, "volumeMounts", int(), "name"):
            return [*_mapping(document, _STORAGE)]
        case ("allowedEnvironments", int()):
            return [*_mapping(document, _ENVIRONMENTS)]
    return []


def _roles(document: Document | None) -> list[str]:
    return [*_mapping(document, _ROLES)]


def _mapping(document: Document | None, path: Path) -> Mapping[str, Any]:
    """Return the mapping at a path of a document; empty if the document has no mapping at the path."""
    value = data_path.at(document.data, path) if document else None
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else {}
