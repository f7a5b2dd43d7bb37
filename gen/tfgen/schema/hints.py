"""Words for what the schema allows, shared by its messages and its explanations.

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
"""Names; a longer list of what is allowed hides what was wrong."""


def expected(node: Schema) -> str:
    """What a value must be: its type, its range or its choices."""
    if "enum" in node:
        return f"one of {either(choice for choice in node['enum'] if choice is not None)}"
    if node.get("x-kind") == "quantity":
        return str(node["x-pattern-says"])
    return either(
        integers(node) if json_type == "integer" else _TYPE_NAMES[json_type] for json_type in json_types(node)
    )


def json_types(node: Schema) -> list[str]:
    """The JSON types of a node; those of its constant if it has no other."""
    types = node.get("type", ["string"])
    return [types] if isinstance(types, str) else list(types)


def integers(node: Schema) -> str:
    """The range of a number, where it is narrower than what JSON carries."""
    if node["maximum"] == MAX_INTEGER:
        return "an integer"
    kind = "a number" if "number" in json_types(node) else "an integer"
    return f"{kind} from {node['minimum']} to {node['maximum']}"


def choices(node: Schema) -> list[str]:
    """The keys of which a mapping needs exactly one."""
    return [key for choice in node["oneOf"] for key in choice["required"]]


def hint_for_key(key: str, owner: Schema, schema: Schema, path: Path = ()) -> str:
    """What was probably meant by a key that the mapping at a path does not have, and what is allowed if short."""
    known = owner["properties"] if "properties" in owner else owner["propertyNames"]["enum"]
    listed = f" (allowed: {', '.join(sorted(known))})" if len(known) <= _SHORT_LIST else ""
    name = (
        _in_our_words(key, known)
        or nearest(key, known, NEAR)
        or _nested(key, owner, schema)
        or _around(key, path, schema)
        or nearest(key, known)
        or _of_spec(key, schema)
    )
    return meant(name) + listed


# What Kubernetes, the TFJob operator or Volcano call it, by the key that it is, or is under, in a job.
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


def _in_our_words(key: str, known: Iterable[str]) -> str | None:
    """`storage` for `volumes`, in a mapping that has it."""
    ours = _OTHER_WORDS.get(key) or _OTHER_WORDS.get(key.lower(), "")
    return ours if ours.partition(".")[0] in known else None


def _of_spec(key: str, schema: Schema) -> str | None:
    """`spec.labels` for `labels` that stand elsewhere, as in Kubernetes' metadata."""
    spec = schema["properties"].get("spec", {}).get("properties", {})
    return f"spec.{key}" if key in spec else None


def _nested(key: str, owner: Schema, schema: Schema) -> str | None:
    """`resources.gpu` for a `gpu` that stands where resources do."""
    for name, written in owner.get("properties", {}).items():
        if key in resolve(schema, written).get("properties", {}):
            return f"{name}.{key}"
    return None


def _around(key: str, path: Path, schema: Schema) -> str | None:
    """`spec.gitops.createNamespace` for a `createNamespace` that stands deeper in `spec.gitops`."""
    for end in range(len(path) - 1, 0, -1):
        owner = schema_file.node(schema, path[:end])
        if owner is not None and is_record(owner) and key in owner["properties"]:
            return path_name((*path[:end], key))
    return None
