"""Describes the constraints of the schema in words, for messages and explanations.

>>> expected({"type": "integer", "minimum": 1, "maximum": 65535})
'an integer from 1 to 65535'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfgen.schema import file as schema_file
from tfgen.schema.file import is_record, resolve
from tfgen.value_type import MAX_INTEGER
from tfgen.words import NEAR, either, meant, nearest, path_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfgen.data_path import Path
    from tfgen.schema.file import Schema

_TYPE_NAMES = {
    "string": "text",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
    "null": "null",
}
_SHORT_LIST = 12
"""Maximum number of allowed names in a message. A longer list would hide the fault."""


def expected(node: Schema) -> str:
    """Return the type or the choices of a schema node in words, such as "an integer from 1 to 10"."""
    if "enum" in node:
        return f"one of {either(choice for choice in node['enum'] if choice is not None)}"
    if node.get("x-kind") == "quantity":
        return str(node["x-pattern-says"])
    return either(
        integers(node) if json_type == "integer" else _TYPE_NAMES[json_type] for json_type in json_types(node)
    )


def json_types(node: Schema) -> list[str]:
    """Return the names of the JSON types that a schema node allows, such as "string"."""
    types = node.get("type", ["string"])
    return [types] if isinstance(types, str) else list(types)


def integers(node: Schema) -> str:
    """Return the range of a schema node for numbers in words, such as "an integer from 1 to 10"."""
    if node["maximum"] == MAX_INTEGER:
        return "an integer"
    kind = "a number" if "number" in json_types(node) else "an integer"
    return f"{kind} from {node['minimum']} to {node['maximum']}"


def choices(node: Schema) -> list[str]:
    """Return the keys in the `oneOf` of a schema node. A mapping must have exactly one of these keys."""
    return [key for choice in node["oneOf"] for key in choice["required"]]


def hint_for_key(key: str, owner: Schema, schema: Schema, path: Path = ()) -> str:
    """Return a hint such as `; did you mean "image"?` for an unknown key, and a short list of the allowed keys.

    Args:
        key: the unknown key.
        owner: the schema of the mapping that contains the key.
        schema: the schema of the document.
        path: the path of the mapping in the document.
    """
    allowed = owner["properties"] if "properties" in owner else owner["propertyNames"]["enum"]
    listed = f" (allowed: {', '.join(sorted(allowed))})" if len(allowed) <= _SHORT_LIST else ""
    name = (
        _in_our_words(key, allowed)
        or nearest(key, allowed, NEAR)
        or _path_one_level_deeper(key, owner, schema)
        or _path_in_parent(key, path, schema)
        or nearest(key, allowed)
        or _path_in_spec(key, schema)
    )
    return meant(name) + listed


# Names in Kubernetes, in TFJob or in Volcano, each with the equivalent key of a job.
_OTHER_WORDS = {
    "activeDeadlineSeconds": "deadline",
    "backoffLimit": "retries",
    "containers": "podTemplate",
    "master": "chief",
    "minMember": "minAvailable",
    "parallelism": "replicas",
    "podFailurePolicy": "restart.ignoreExitCodes",
    "queue": "gang.queue",
    "replicas": "roles.worker.replicas",
    "schedulerName": "gang.scheduler",
    "securityContext": "security",
    "tfReplicaSpecs": "roles",
    "volumeMounts": "storage",
    "volumes": "storage",
}


def _in_our_words(key: str, allowed: Iterable[str]) -> str | None:
    """Return the equivalent of a Kubernetes key in a job, such as `storage` for `volumes`; None for other keys.

    The mapping that contains the key allows only the keys in `allowed`. If the equivalent begins with a different key,
    return None as well.
    """
    ours = _OTHER_WORDS.get(key) or _OTHER_WORDS.get(key.lower(), "")
    return ours if ours.partition(".")[0] in allowed else None


def _path_in_spec(key: str, schema: Schema) -> str | None:
    """Return the path of a key that belongs to `spec`, such as `spec.labels` for `labels` in `metadata`.

    If `spec` has no such key, return None.
    """
    spec = schema["properties"].get("spec", {}).get("properties", {})
    return f"spec.{key}" if key in spec else None


def _path_one_level_deeper(key: str, owner: Schema, schema: Schema) -> str | None:
    """Return the path of a key that belongs one level deeper, such as `resources.gpu` for `gpu` next to `resources`.

    If no mapping one level deeper has such a key, return None. The argument `owner` is the schema of the mapping that
    contains the misplaced key.
    """
    for name, written in owner.get("properties", {}).items():
        if key in resolve(schema, written).get("properties", {}):
            return f"{name}.{key}"
    return None


def _path_in_parent(key: str, path: Path, schema: Schema) -> str | None:
    """Return the correct path of a key that belongs to a parent mapping, or None if no parent mapping has such a key.

    For example, return `spec.gitops.createNamespace` for the key `createNamespace` below `spec.gitops.argocd`. The
    argument `path` is the path of the mapping that contains the misplaced key.
    """
    for end in range(len(path) - 1, 0, -1):
        owner = schema_file.node(schema, path[:end])
        if owner is not None and is_record(owner) and key in owner["properties"]:
            return path_name((*path[:end], key))
    return None
