"""List entries that Kubernetes treats as the same entry. Kubernetes drops or refuses the second of two such entries.

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
        yield from _find_duplicates((field,), view.values[field], KUSTOMIZE_KEYS[field])
    for role in view.roles:
        base: Path = ("roles", role.name)
        field = "topologySpreadConstraints"
        constraints = view.values["roles"][role.name].get(field, [])
        yield from _find_duplicates((*base, field), constraints, KUSTOMIZE_KEYS[field])
        yield from _find_duplicates((*base, "ports"), role.ports, KUSTOMIZE_KEYS["ports"])
        yield from _find_reserved_ports(view, (*base, "ports"), role.ports)
        parts = [(part, "Container") for part in pod_parts.extra_containers(view, role.name)]
        parts += [(part, "PodTemplateSpec") for part in pod_parts.templates(view, role.name)]
        for part, kind in parts:
            for keyed in kubernetes_fields.keyed_lists(part.path, part.data, kind):
                # The rule duplicate-mount-path reports the mounts of the main container.
                if keyed.path[-1] != "volumeMounts" or keyed.owner.get("name") != CONTAINER:
                    yield from _find_duplicates(keyed.path, keyed.items, keyed.keys)
    yield from _check_patches(view)
    yield from _check_objects(view)


def has_second_container(view: View) -> bool:
    """Return True if a podTemplate has two containers with the same name."""
    specs = (spec for role in view.roles for spec in pod_parts.template_specs(view, role.name))
    findings = (finding for spec in specs for finding in _keyed_lists(spec.path, spec.data, "PodSpec"))
    return any(finding.path[-2] == "containers" for finding in findings)


def _check_patches(view: View) -> Iterator[Finding]:
    for spec in pod_parts.patch_specs(view):
        yield from _keyed_lists(spec.path, spec.data, "PodSpec")
    for patch in view.patches:
        yield from _service_ports(patch.kind, ("patches", patch.name, "merge"), patch.merge)


def _check_objects(view: View) -> Iterator[Finding]:
    """Find duplicate list items in objects under `objects`. kustomize merges such items when it patches an object."""
    for name, item in view.values["objects"].items():
        if group(item) in STRATEGIC_GROUPS:
            path: Path = ("objects", name)
            for spec_path, spec in _pod_specs(path, item):
                yield from _keyed_lists(spec_path, spec, "PodSpec")
            yield from _service_ports(item["kind"], path, item)


def _pod_specs(path: Path, data: Any) -> Iterator[tuple[Path, Any]]:
    """Yield the path and content of each pod spec in an object. A pod spec is a mapping with a list of containers."""
    if not isinstance(data, Mapping):
        return
    if isinstance(data.get("containers"), list):
        yield path, data
    for key, value in data.items():
        yield from _pod_specs((*path, key), value)


def _keyed_lists(path: Path, data: Any, type_name: str) -> Iterator[Finding]:
    for keyed in kubernetes_fields.keyed_lists(path, data, type_name):
        yield from _find_duplicates(keyed.path, keyed.items, keyed.keys)


def _service_ports(kind: str, path: Path, data: Mapping[str, Any]) -> Iterator[Finding]:
    ports = data_path.at(data, ("spec", "ports"))
    if kind == "Service" and isinstance(ports, list):
        yield from _find_duplicates((*path, "spec", "ports"), ports, kustomize_keys(kind)["ports"])


def _find_reserved_ports(view: View, path: Path, ports: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    port = view.job.structure.port
    for index, item in enumerate(ports):
        if item["containerPort"] == port:
            message = (
                f"{path_name(path)}: TensorFlow uses containerPort {port}; remove the port, or change spec.port of "
                "the job"
            )
            yield Finding((*path, index), message)


def _find_duplicates(path: Path, items: Sequence[Any], keys: Sequence[str]) -> Iterator[Finding]:
    items_by_name: dict[Any, list[Any]] = {}
    for index, item in enumerate(items):
        if isinstance(item, Mapping) and item.get("$patch") == "delete":
            continue
        if keys and not isinstance(item, Mapping):
            continue
        name = item.get(keys[0]) if keys else item
        if name is None or isinstance(name, (Mapping, list)):
            continue  # The rule wrong-shape reports this item.
        namesakes = items_by_name.setdefault(name, [])
        if any(_has_equal_keys(item, namesake, keys[1:]) for namesake in namesakes):
            message = f"{path_name(path)}: {_name_item(item, keys)} is already in the list; {_fix(keys)}"
            yield Finding((*path, index), message)
        else:
            namesakes.append(item)


def _has_equal_keys(item: Any, namesake: Any, keys: Sequence[str]) -> bool:
    """Return True if two list items have equal values for all `keys`. A missing value counts as equal.

    For example, kustomize compares the protocols of ports only if every port of the list sets a protocol. So a port
    without a protocol equals a port with `protocol: UDP`. The caller has already compared the first merge key of the
    items, so `keys` contains only the remaining merge keys.
    """
    pairs = ((item.get(key), namesake.get(key)) for key in keys)
    return all(None in pair or pair[0] == pair[1] for pair in pairs)


def _name_item(item: Any, keys: Sequence[str]) -> str:
    return " with ".join(f"{key} {shown(item[key])}" for key in keys if key in item) if keys else shown(item)


def _fix(keys: Sequence[str]) -> str:
    fix = "remove one of the two entries"
    return f"{fix}, or set the protocol of both entries" if _PROTOCOL in keys else fix


RULES: Final = (
    Rule("duplicate-entry", "error", "A list contains two entries that Kubernetes treats as the same entry.", _check),
)
