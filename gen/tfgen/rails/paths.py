"""The entries of `enforce` in a tfgen.yaml, and the check for entries that match no key of any job.

enforce:
- spec.gang.queue                                       # jobs cannot change this value
- spec.nodeSelector                                     # jobs cannot change these entries, but may add more
- {path: spec.gitops, except: [source, argocd.prune]}   # jobs may change only these two keys of gitops
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.errors import Place, Problem, UsageError
from tfgen.rails.rail import GUARD_RAIL
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema.file import Schema, read_path, resolve
from tfgen.schema.kubernetes_fields import types
from tfgen.text.document import Document
from tfgen.words import meant, nearest, path_name, shown

REGISTRY: Final[Path] = ("registry",)
ENVIRONMENTS: Final[Path] = ("spec", "environments")
SECURITY: Final[Path] = ("spec", "security")

_MAX_DEPTH: Final = 6
"""Maximum number of keys in a path that tfgen suggests in the message for a wrong path."""

_ALLOWED_NAMES: Final[Mapping[str, str]] = {"namespace": "allowedNamespaces", "environments": "allowedEnvironments"}
"""The key of tfgen.yaml that lists the allowed names, by the key in a job, such as `namespace`."""


class Enforced(Record):
    """An `enforce` entry of a tfgen.yaml.

    Attributes:
        path: the enforced path in a job, such as ("spec", "gang"), or ("registry",) for the registry of all images.
        place: the line of the entry.
        data: the tfgen.yaml with the entry, merged with the tfgen.yaml files of parent folders.
        excepted: the keys of `except`, which a job may set, relative to the path; None for an entry without `except`.
    """

    path: Path
    place: Place
    data: Any
    excepted: tuple[Path, ...] | None = None


def all_enforced(nearest_layer: Document | None) -> Iterator[Enforced]:
    """Yield the `enforce` entries of the tfgen.yaml `nearest_layer`, then of the tfgen.yaml files in parent folders."""
    document = nearest_layer
    while document is not None:
        layer = document.alone()
        for index, entry in enumerate(layer.data.get("enforce", ())):
            place = layer.place(("enforce", index))
            if isinstance(entry, str):
                yield Enforced(_read(entry), place, document.data)
            else:
                excepted = tuple(_read_below(entry["path"], key)[1] for key in entry["except"])
                yield Enforced(_read(entry["path"]), place, document.data, excepted)
        document = document.under


def check_enforced_paths(defaults: Document) -> Iterator[Problem]:
    """Yield a problem for each wrong path under `enforce`, such as a path that matches no key of any job."""
    layer = defaults.alone()
    for index, entry in enumerate(layer.data.get("enforce", ())):
        at: Path = ("enforce", index)
        if isinstance(entry, str):
            if fault := _fault(entry, defaults):
                yield Problem(*layer.place(at), fault, GUARD_RAIL)
        elif fault := _fault(entry["path"], defaults) or _block_fault(entry["path"]):
            yield Problem(*layer.place((*at, "path")), fault, GUARD_RAIL)
        else:
            for number, key in enumerate(entry["except"]):
                if fault := _key_fault(entry["path"], key):
                    yield Problem(*layer.place((*at, "except", number)), fault, GUARD_RAIL)


def _read(text: str) -> Path:
    return REGISTRY if text == "registry" else read_path(text)


def _read_below(block: str, key: str) -> tuple[Path, Path]:
    """Return the complete path of `key`, an item of `except`, and the path of `key` below the enforced block.

    For the block `spec.gitops` and the key `argocd.prune`, the first path is ("spec", "gitops", "argocd", "prune"), and
    the second path is ("argocd", "prune").
    """
    base = _read(block)
    path = read_path(f"{path_name(base)}.{key}")
    return path, path[len(base) :]


def _fault(text: str, defaults: Document) -> str:
    """Return the reason why the path `text` matches no key of any job; empty for a correct path."""
    try:
        path = _read(text)
    except UsageError as error:
        return str(error)
    if path == REGISTRY:
        return ""
    if path == ("metadata", "namespace"):
        return f"{shown(text)} is not a path in spec; list allowed namespaces in allowedNamespaces"
    if path[0] != "spec" or len(path) == 1:
        return f"tfgen cannot enforce {shown(text)}; write registry, or a key of spec such as spec.gang.queue"
    if any(isinstance(step, int) for step in path):
        return (
            f"{shown(text)} is an item of a list, but only a complete list can be enforced; write the path of the list"
        )
    return _unknown_step(path) or _absent_environment(path, defaults)


def _block_fault(text: str) -> str:
    path = _read(text)
    if path == REGISTRY:
        return "except applies only to mappings, but registry is a text; replace the entry by the text registry"
    node = schema_file.node(schema_file.load(), path) or {}
    if "properties" in node or "additionalProperties" in node:
        return ""
    return f"except applies only to mappings; replace the entry by the text {path_name(path)}"


def _key_fault(block: str, key: str) -> str:
    """Return the fault of `key`, an item of `except` for the enforced path `block`; empty for a correct key."""
    try:
        path, keys = _read_below(block, key)
    except UsageError as error:
        return str(error)
    if any(isinstance(step, int) for step in keys):
        return (
            f"{shown(key)} is an item of a list, but only a complete list can be enforced; write the path of the list"
        )
    return _unknown_step(path)


def _unknown_step(path: Path) -> str:
    """Return the message for a path that no job can have; empty for a valid path.

    The message names the first wrong key of the path, and suggests a similar path.
    """
    schema = schema_file.load()
    for end in range(1, len(path) + 1):
        owner = schema_file.node(schema, path[: end - 1]) or {}
        key = path[end - 1]
        if schema_file.node(schema, path[:end]) is None:
            return f"no job has the key {path_name(path[:end])}{meant(_nearest(schema, path, end, owner))}"
        if key not in owner.get("properties", {}) and not _is_name(schema, owner, key):
            return f"no job has the key {path_name(path[:end])}{_instead_of_pattern(schema, path, end)}"
    return _unknown_pod_field(path)


def _unknown_pod_field(path: Path) -> str:
    """Return the message for a podTemplate path with an unknown Kubernetes field; empty for a valid path."""
    at = 3 if path[1] == "roles" else 1
    begin = at + 1 if path[at : at + 1] == ("podTemplate",) else len(path)
    type_name = "PodTemplateSpec"
    for end in range(begin, len(path)):
        if type_name not in types():
            break
        fields = types()[type_name].fields
        if path[end] not in fields:
            near = nearest(path[end], fields)
            candidate = path_name((*path[:end], near, *path[end + 1 :])) if near else None
            return f"no job has the key {path_name(path[: end + 1])}{meant(candidate)}"
        type_name = fields[str(path[end])]
    return ""


def _nearest(schema: Schema, path: Path, end: int, owner: Schema) -> str | None:
    """Return the valid path that is most similar to an invalid path, as text; None without a similar path.

    For the path `spec.gang.queueName`, the result is `spec.gang.queue`. A path with the same parent key has precedence.

    Args:
        schema: the schema of the job.
        path: the invalid path.
        end: the number of steps in the path up to and including the first invalid step; 3 in the example.
        owner: the schema of the parent key of the first invalid step; the schema of `spec.gang` in the example.
    """
    sibling = nearest(path[end - 1], owner.get("properties", {}))
    if sibling:
        return path_name((*path[: end - 1], sibling, *path[end:]))
    return nearest(path_name(path), map(path_name, _paths(schema, schema, ())))


def _paths(schema: Schema, node: Schema, path: Path) -> Iterator[Path]:
    """Yield the path of each key below `spec` that the job schema lists by name, such as ("spec", "gang", "queue").

    The function yields neither `spec.environments` nor a path below, and no path with more than `_MAX_DEPTH` keys.
    `node` is the schema of the value at `path`.
    """
    for key, written in node.get("properties", {}).items() if len(path) < _MAX_DEPTH else ():
        child = (*path, key)
        if child[0] == "spec" and child != ENVIRONMENTS:
            yield child
            yield from _paths(schema, resolve(schema, written), child)


def _is_name(schema: Schema, owner: Schema, key: str | int) -> bool:
    """Return True if a key is a valid name for a user-defined map entry, such as a volume or an environment."""
    names, name = resolve(schema, owner.get("propertyNames", {})), str(key)
    is_reserved = name in names.get("not", {}).get("enum", ())
    fits = re.search(names.get("pattern", ""), name) and len(name) <= names.get("maxLength", len(name))
    return bool(fits) and not is_reserved


def _instead_of_pattern(schema: Schema, path: Path, end: int) -> str:
    """Return a hint for a pattern such as `*`, which a user wrote instead of the name of an environment."""
    if path[: end - 1] != ENVIRONMENTS:
        return ""
    keys = path[end:]
    if allowed := _ALLOWED_NAMES.get(str(keys[0]) if keys else "environments"):
        return f"; list the names in {allowed}"
    if schema_file.node(schema, ("spec", *keys)) is None:
        return "; write the name of an environment"
    return f"; write {path_name(('spec', *keys))}, which applies to each environment"


def _absent_environment(path: Path, defaults: Document) -> str:
    """Return the message for an environment that `allowedEnvironments` does not list, or an empty text."""
    if path[:2] != ENVIRONMENTS or len(path) == 2:
        return ""
    for layer in defaults.layers():
        allowed: Sequence[str] = data_path.at(layer.data, ("allowedEnvironments",)) or ()
        if allowed and path[2] not in allowed:
            near = nearest(path[2], allowed)
            place = layer.place(("allowedEnvironments",))
            candidate = path_name((*ENVIRONMENTS, near, *path[3:])) if near else None
            return f"no job has the environment {path[2]}, which {place} does not list{meant(candidate)}"
    return ""
