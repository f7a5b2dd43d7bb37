"""Merge a job with the defaults in the ``tfgen.yaml`` files, from the root of the repository to the job's folder.

    tfgen.yaml                                        jobs/mnist/job.yaml
      registry: registry.example.com/ml                 spec:
      spec:                                               image: mnist:1.4.0
        tolerations: [{key: nvidia.com/gpu, ...}]         gang: {scheduler: volcano}
        gang: {queue: research}                           roles: {chief: {}, worker: {replicas: 4}}

The resulting job has this toleration, this queue, and the image registry.example.com/ml/mnist:1.4.0. In the same way,
`argocd: {project: ads}` sets the project of a job with `gitops: {argocd: {}}`.

tfgen merges the job over the defaults as a JSON merge patch (RFC 7386). Maps are merged, null removes a default, and
any other value of the job replaces the default. Two rules differ from the RFC:

- A default may lack a key that the schema requires, for example a gang without its scheduler, or a volume without its
  source. Such a default applies only to a job that sets the missing key. In the same way, a default of an environment
  for a section of the job, such as a role, applies only to a job that has the section.
- The merge keeps a null of an environment, because the null removes a value of the job in that environment.

A ``tfgen.yaml`` in a subfolder is merged over the ``tfgen.yaml`` in the nearest parent folder in the same way. An unset
field inherits the value of the parent file, and null removes the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.errors import Problem
from tfgen.schema import file as schema_file
from tfgen.schema.file import Schema, entry, is_record, resolve
from tfgen.schema.hints import choices
from tfgen.text.document import Document
from tfgen.text.parse import decode, parse

FILE: Final = "tfgen.yaml"
"""The name of the file with the defaults. Each folder may contain such a file."""

_IMAGES: Final = ("#/definitions/image", "#/definitions/containerImage")
_ENVIRONMENTS: Final = "environments"
_MERGED: Final = ("argocd", "registry", "spec")
"""The keys that a tfgen.yaml inherits from the tfgen.yaml of a parent folder."""


def sets_root(content: bytes) -> bool:
    """Return whether a tfgen.yaml contains `root: true`. The folder of such a file contains charts/ and overlays/.

    A tfgen.yaml with `root: true` inherits nothing from the tfgen.yaml files of parent folders.

    Args:
        content: the content of the tfgen.yaml, which may be invalid.
    """
    if b"root" not in content:
        return False
    text = decode(content, FILE)
    documents = () if isinstance(text, Problem) else parse(text, FILE).documents
    return bool(documents) and data_path.at(documents[0].data, ("root",)) is True


def merge_layer(layer: Document, parent: Document | None) -> Document:
    """Merge a tfgen.yaml over the tfgen.yaml of a parent folder. Return an invalid tfgen.yaml unchanged.

    Args:
        layer: the tfgen.yaml, which may be invalid.
        parent: the tfgen.yaml of the parent folder, which `schema.check_defaults` accepts; None if no parent has one.
    """
    if parent is None or not isinstance(layer.data, Mapping):
        return layer
    inherited = {key: parent.data[key] for key in _MERGED if key in parent.data}
    merged = {**inherited, **layer.data}
    spec = layer.data.get("spec", {})
    if isinstance(spec, Mapping):
        schema = schema_file.load()
        node = schema["properties"]["spec"]
        merged["spec"] = _merged(schema, node, parent.data.get("spec", {}), spec, keeps_incomplete=True)
    merged = {key: value for key, value in merged.items() if value is not None or key not in inherited}
    return layer.replaced(data=merged, under=parent, unmerged=layer.data)


def merge_job(job: Document, defaults: Document) -> Document:
    """Merge a job over its defaults. Return an invalid job unchanged.

    Args:
        job: the job, which may be invalid.
        defaults: the merged defaults, which `schema.check_defaults` accepts.
    """
    spec = job.data.get("spec") if isinstance(job.data, Mapping) else None
    if not isinstance(spec, Mapping):
        return job
    schema = schema_file.load()
    node = schema["properties"]["spec"]
    merged = _merged(schema, node, defaults.data.get("spec", {}), spec)
    own_environments = spec.get(_ENVIRONMENTS)
    if isinstance(merged.get(_ENVIRONMENTS), Mapping):
        own_first = {name: None for name in own_environments or () if name in merged[_ENVIRONMENTS]}
        merged[_ENVIRONMENTS] = {
            name: _without_unused_defaults(
                schema,
                node,
                environment,
                merged,
                own_environments.get(name, {}) if isinstance(own_environments, Mapping) else {},
            )
            for name, environment in {**own_first, **merged[_ENVIRONMENTS]}.items()
        }
    argocd = data_path.at(merged, ("gitops", "argocd"))
    if isinstance(argocd, Mapping) and (project := data_path.at(defaults.data, ("argocd", "project"))):
        merged = data_path.with_value(merged, ("gitops", "argocd"), {"project": project, **argocd})
    if registry := defaults.data.get("registry"):
        merged = _with_registry(schema, node, merged, registry)
    return job.replaced(data={**job.data, "spec": merged}, under=defaults, unmerged=job.data)


def names_registry(image: str) -> bool:
    """Return whether an image reference contains a registry.

    https://pkg.go.dev/github.com/distribution/reference: the text before the first slash is a registry if the text
    contains a dot or a colon, or is "localhost".
    """
    first, slash, _ = image.partition("/")
    return bool(slash) and ("." in first or ":" in first or first == "localhost")


def _merged(
    schema: Schema,
    node: Schema,
    defaults: Mapping[str, Any],
    over: Mapping[str, Any],
    *,
    keeps_incomplete: bool = False,
) -> dict[str, Any]:
    """Merge the mapping `over` over the mapping `defaults`. `node` is the part of the JSON schema for the two mappings.

    A default that lacks a required key is left out, unless `keeps_incomplete` is true: a job may add the key later.
    """
    merged: dict[str, Any] = {}
    taken = _not_chosen(node, over)
    for key, value in defaults.items():
        if key not in over and key not in taken:
            child_node = entry(schema, node, key) or {}
            value = (
                _merged(schema, child_node, value, {}, keeps_incomplete=keeps_incomplete)
                if isinstance(value, Mapping)
                else value
            )
            if keeps_incomplete or _is_complete(child_node, value):
                merged[key] = value
    for key, value in over.items():
        default = defaults.get(key)
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            child_node = entry(schema, node, key) or {}
            merged[key] = _merged(schema, child_node, default, value, keeps_incomplete=keeps_incomplete)
        elif value is not None or key not in defaults:
            merged[key] = value
    return merged


def _not_chosen(node: Schema, over: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys that cannot be set beside the keys of `over`, because the schema allows only one of these keys.

    For example, a volume with the source `claim` cannot have another source. `oneOf` of the schema lists the sources.
    """
    keys = choices(node) if "oneOf" in node else ()
    return tuple(key for key in keys if key not in over) if any(key in over for key in keys) else ()


def _is_complete(node: Schema, value: Any) -> bool:
    """Return whether a value has all keys that the schema requires."""
    if not isinstance(value, Mapping):
        return True
    chosen = any(key in value for key in choices(node)) if "oneOf" in node else True
    return chosen and all(key in value for key in node.get("required", ()))


def _without_unused_defaults(schema: Schema, node: Schema, environment: Any, spec: Any, unmerged: Any) -> Any:
    """Return an environment without the defaults for sections that the job does not have, such as a missing role.

    Args:
        schema: the schema of job.yaml.
        node: the part of the schema for `environment` and `spec`.
        environment: the environment, merged with its defaults.
        spec: the spec of the job.
        unmerged: the environment in the job file, without defaults.
    """
    if not (isinstance(environment, Mapping) and isinstance(spec, Mapping) and isinstance(unmerged, Mapping)):
        return environment
    used = {}
    for key, value in environment.items():
        child_node = entry(schema, node, key) or {}
        if key in spec or key in unmerged:
            used[key] = _without_unused_defaults(schema, child_node, value, spec.get(key, {}), unmerged.get(key, {}))
        elif not isinstance(value, Mapping) or (_is_complete(child_node, value) and not _is_section(child_node)):
            used[key] = value
    return used


def _is_section(node: Schema) -> bool:
    """Return True if `node` is the schema of an optional section of a job, such as a role."""
    return is_record(node) and "default" not in node


def _with_registry(schema: Schema, node: Schema, value: Any, registry: str) -> Any:
    """Return a copy of a job or of a part of a job, in which each image has a registry.

    `registry` precedes each image without a registry. `node` is the part of the JSON schema for `value`.
    """
    if isinstance(value, str):
        is_bare = node.get("$ref") in _IMAGES and value and not names_registry(value)
        return f"{registry}/{value}" if is_bare else value
    resolved = resolve(schema, node)
    if isinstance(value, list) and "items" in resolved:
        return [_with_registry(schema, resolved["items"], item, registry) for item in value]
    if not isinstance(value, Mapping):
        return value
    properties, additional = resolved.get("properties", {}), resolved.get("additionalProperties")
    child_nodes = {key: properties.get(key, additional) for key in value}
    return {
        key: _with_registry(schema, child_nodes[key], child, registry)
        if isinstance(child_nodes[key], Mapping)
        else child
        for key, child in value.items()
    }
