"""Two entries of a list that Kubernetes takes for a map: the second would replace the first, or be refused.

https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.objects.names import CONTAINER
from tfgen.kubernetes.merge_keys import KUSTOMIZE_KEYS, STRATEGIC_GROUPS, kustomize_keys
from tfgen.kubernetes.object import group
from tfgen.rules import pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema import kubernetes_fields
from tfgen.words import path_name, shown

_PROTOCOL: Final = "protocol"


def _check(view: View) -> Iterator[Finding]:
    for field in ("imagePullSecrets", "topologySpreadConstraints"):
        yield from _list((field,), view.values[field], KUSTOMIZE_KEYS[field])
    for role in view.roles:
        base: Path = ("roles", role.name)
        constraints = view.values["roles"][role.name]["topologySpreadConstraints"]
        yield from _list((*base, "topologySpreadConstraints"), constraints, KUSTOMIZE_KEYS["topologySpreadConstraints"])
        yield from _list((*base, "ports"), role.ports, (*KUSTOMIZE_KEYS["ports"], _PROTOCOL))
        yield from _taken(view, (*base, "ports"), role.ports)
        parts = [(part, "Container") for part in pod_parts.beside(view, role.name)]
        parts += [(part, "PodTemplateSpec") for part in pod_parts.templates(view, role.name)]
        for part, kind in parts:
            for keyed in kubernetes_fields.keyed_lists(part.path, part.data, kind):
                # Of the main container's mounts, duplicate-mount-path speaks.
                if keyed.path[-1] != "volumeMounts" or keyed.owner.get("name") != CONTAINER:
                    yield from _list(keyed.path, keyed.items, keyed.keys)
    yield from _of_patches(view)
    yield from _of_objects(view)


def has_second_container(view: View) -> bool:
    """Whether a podTemplate has two containers of one name."""
    specs = (spec for role in view.roles for spec in pod_parts.specs(view, role.name))
    findings = (finding for spec in specs for finding in _keyed_lists(spec.path, spec.data, "PodSpec"))
    return any(finding.path[-2] == "containers" for finding in findings)


def _of_patches(view: View) -> Iterator[Finding]:
    for spec in pod_parts.of_patches(view):
        yield from _keyed_lists(spec.path, spec.data, "PodSpec")
    for patch in view.patches:
        yield from _ports_of_service(patch.kind, ("patches", patch.name, "merge"), patch.merge)


def _of_objects(view: View) -> Iterator[Finding]:
    """Once kustomize patches an object of a kind of Kubernetes' own, it merges items of one list with each other."""
    for name, item in view.values["objects"].items():
        if group(item) in STRATEGIC_GROUPS:
            path: Path = ("objects", name)
            for spec_path, spec in _pod_specs(path, item):
                yield from _keyed_lists(spec_path, spec, "PodSpec")
            yield from _ports_of_service(item["kind"], path, item)


def _pod_specs(path: Path, data: Any) -> Iterator[tuple[Path, Any]]:
    """The pod specs in an object of Kubernetes' own: what has containers."""
    if not isinstance(data, Mapping):
        return
    if isinstance(data.get("containers"), list):
        yield path, data
    for key, inner in data.items():
        yield from _pod_specs((*path, key), inner)


def _keyed_lists(path: Path, data: Any, type_name: str) -> Iterator[Finding]:
    for keyed in kubernetes_fields.keyed_lists(path, data, type_name):
        yield from _list(keyed.path, keyed.items, keyed.keys)


def _ports_of_service(kind: str, path: Path, data: Mapping[str, Any]) -> Iterator[Finding]:
    ports = data_path.at(data, ("spec", "ports"))
    if kind == "Service" and isinstance(ports, list):
        yield from _list((*path, "spec", "ports"), ports, (*kustomize_keys(kind)["ports"], _PROTOCOL))


def _taken(view: View, path: Path, ports: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    port = view.job.structure.port
    for index, item in enumerate(ports):
        if item["containerPort"] == port:
            message = (
                f"{path_name(path)}: containerPort {port} is TensorFlow's own; remove it, or give the job another port"
            )
            yield Finding((*path, index), message)


def _list(path: Path, items: Sequence[Any], keys: Sequence[str]) -> Iterator[Finding]:
    known: dict[Any, list[Any]] = {}
    for index, item in enumerate(items):
        if isinstance(item, Mapping) and item.get("$patch") == "delete":
            continue
        if keys and not isinstance(item, Mapping):
            continue
        name = item.get(keys[0]) if keys else item
        if name is None or isinstance(name, (Mapping, list)):
            continue  # of which wrong-shape speaks
        namesakes = known.setdefault(name, [])
        if any(_is_same(item, other, keys[1:]) for other in namesakes):
            message = f"{path_name(path)}: {_name_item(item, keys)} is there already; {_way_out(keys)}"
            yield Finding((*path, index), message)
        else:
            namesakes.append(item)


def _is_same(item: Any, other: Any, further: Sequence[str]) -> bool:
    """Whether two items whose first key is the same have the others alike.

    kustomize looks at a protocol too, but only of ports that all say theirs.
    """
    pairs = ((item.get(key), other.get(key)) for key in further)
    return all(None in pair or pair[0] == pair[1] for pair in pairs)


def _name_item(item: Any, keys: Sequence[str]) -> str:
    return " with ".join(f"{key} {shown(item[key])}" for key in keys if key in item) if keys else shown(item)


def _way_out(keys: Sequence[str]) -> str:
    return "where protocols differ, write both" if _PROTOCOL in keys else "remove one of the two"


RULES: Final = (Rule("duplicate-entry", "error", "A list has two entries that Kubernetes takes for one.", _check),)
