"""Defaults: what each ``tfgen.yaml`` says, from the repository's root to the job's folder, under the jobs below it.

    tfgen.yaml                                        jobs/mnist/job.yaml
      registry: registry.example.com/ml                 spec:
      spec:                                               image: mnist:1.4.0
        tolerations: [{key: nvidia.com/gpu, ...}]         gang: {scheduler: volcano}
        gang: {queue: research}                           roles: {chief: {}, worker: {replicas: 4}}

is a job with that toleration, in that queue, with the image registry.example.com/ml/mnist:1.4.0. In the same way
`argocd: {project: ads}` is the project of a job with `gitops: {argocd: {}}`.

The job is a JSON merge patch (RFC 7386) of the defaults: maps merge, null removes, and all else is the job's where the
job says it. Two rules differ from the RFC:

- A default may lack a key that the schema requires: a gang without its scheduler, a volume without its source. It then
  counts only for a job that says the missing key. In the same way, a default of an environment counts only for a job
  that has what the default changes.
- A null within an environment stays, since there it removes what the job has.

A nearer ``tfgen.yaml`` is a merge patch of the one above it in the same way: what it does not say stays as it is above,
and a null removes it. Two halves of a section may stand in two of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.problems import Problem
from tfgen.schema import file as schema_file
from tfgen.schema.file import Schema, entry, is_record, resolve
from tfgen.schema.hints import choices
from tfgen.text.document import Document
from tfgen.text.parse import decode, parse

FILE: Final = "tfgen.yaml"
"""The name of the file. One may stand in each folder."""

_IMAGES: Final = ("#/definitions/image", "#/definitions/containerImage")
_ENVIRONMENTS: Final = "environments"
_MERGED: Final = ("argocd", "registry", "spec")
"""What the defaults of a folder have of those above it."""


def says_root(content: bytes) -> bool:
    """Whether defaults say that their folder is a root, which has charts/ and overlays/ and nothing from above.

    Args:
        content: the file's, be it no defaults at all.
    """
    if b"root" not in content:
        return False
    text = decode(content, FILE)
    documents = () if isinstance(text, Problem) else parse(text, FILE).documents
    return bool(documents) and data_path.at(documents[0].data, ("root",)) is True


def over(layer: Document, above: Document | None) -> Document:
    """The defaults of a folder over those above it; as they are, where they are no defaults at all.

    Args:
        layer: any document.
        above: what `schema.check_defaults` accepts, or nothing.
    """
    if above is None or not isinstance(layer.data, Mapping):
        return layer
    inherited = {key: above.data[key] for key in _MERGED if key in above.data}
    merged = {**inherited, **layer.data}
    spec = layer.data.get("spec", {})
    if isinstance(spec, Mapping):
        schema = schema_file.load()
        node = schema["properties"]["spec"]
        merged["spec"] = _merged(schema, node, above.data.get("spec", {}), spec, has_halves=True)
    merged = {key: value for key, value in merged.items() if value is not None or key not in inherited}
    return layer.replaced(data=merged, under=above, unmerged=layer.data)


def under(job: Document, defaults: Document) -> Document:
    """The job with a team's defaults under it; as it is, where it is no job at all.

    Args:
        job: any document.
        defaults: what `schema.check_defaults` accepts.
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
            name: _fitting(
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
    """Whether an image says the registry that it is in.

    https://pkg.go.dev/github.com/distribution/reference: what is before the first slash is a host where it has a dot
    or a port, or is localhost.
    """
    first, slash, _ = image.partition("/")
    return bool(slash) and ("." in first or ":" in first or first == "localhost")


def _merged(
    schema: Schema, node: Schema, below: Mapping[str, Any], over: Mapping[str, Any], *, has_halves: bool = False
) -> dict[str, Any]:
    """The defaults with what is merged over them; `node` is that of both.

    With `has_halves` a default without a key that it needs stays, as it does until a job is merged over it.
    """
    merged: dict[str, Any] = {}
    taken = _not_chosen(node, over)
    for key, value in below.items():
        if key not in over and key not in taken:
            inner = entry(schema, node, key) or {}
            value = _merged(schema, inner, value, {}, has_halves=has_halves) if isinstance(value, Mapping) else value
            if has_halves or _is_whole(inner, value):
                merged[key] = value
    for key, value in over.items():
        default = below.get(key)
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            inner = entry(schema, node, key) or {}
            merged[key] = _merged(schema, inner, default, value, has_halves=has_halves)
        elif value is not None or key not in below:
            merged[key] = value
    return merged


def _not_chosen(node: Schema, over: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys that the job's choice excludes, such as the other sources of its volume."""
    keys = choices(node) if "oneOf" in node else ()
    return tuple(key for key in keys if key not in over) if any(key in over for key in keys) else ()


def _is_whole(node: Schema, value: Any) -> bool:
    """Whether a value has all keys that the schema requires of it."""
    if not isinstance(value, Mapping):
        return True
    chosen = any(key in value for key in choices(node)) if "oneOf" in node else True
    return chosen and all(key in value for key in node.get("required", ()))


def _fitting(schema: Schema, node: Schema, environment: Any, spec: Any, own: Any) -> Any:
    """An environment without the defaults that change what the job has not; `own` is what the job says of it itself."""
    if not (isinstance(environment, Mapping) and isinstance(spec, Mapping) and isinstance(own, Mapping)):
        return environment
    fitting = {}
    for key, value in environment.items():
        inner = entry(schema, node, key) or {}
        if key in spec or key in own:
            fitting[key] = _fitting(schema, inner, value, spec.get(key, {}), own.get(key, {}))
        elif not isinstance(value, Mapping) or (_is_whole(inner, value) and not _is_section(inner)):
            fitting[key] = value
    return fitting


def _is_section(node: Schema) -> bool:
    """Whether a job has the node only if it says so: a role, and no section with a default."""
    return is_record(node) and "default" not in node


def _with_registry(schema: Schema, node: Schema, value: Any, registry: str) -> Any:
    """The value with the registry before each image in it that names none. `node` is not resolved."""
    if isinstance(value, str):
        is_bare = node.get("$ref") in _IMAGES and value and not names_registry(value)
        return f"{registry}/{value}" if is_bare else value
    resolved = resolve(schema, node)
    if isinstance(value, list) and "items" in resolved:
        return [_with_registry(schema, resolved["items"], item, registry) for item in value]
    if not isinstance(value, Mapping):
        return value
    known, other = resolved.get("properties", {}), resolved.get("additionalProperties")
    inner = {key: known.get(key, other) for key in value}
    return {
        key: _with_registry(schema, inner[key], child, registry) if isinstance(inner[key], Mapping) else child
        for key, child in value.items()
    }
