"""Two entries of a list that Kubernetes takes for a map: the second would replace the first, or be refused.

https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.graph.objects.names import CONTAINER
from tfgen.kubernetes.merge_keys import LIST_KEYS
from tfgen.rules import pod_parts
from tfgen.rules.pod_parts import Part
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View
from tfgen.words import path_name, shown

_NAMED: Final = ("containers", "initContainers", "volumes")  # of which duplicate-name speaks


def _check(view: View) -> Iterator[Finding]:
    for field in ("imagePullSecrets", "topologySpreadConstraints"):
        yield from _list((field,), field, view.values[field])
    for role in view.roles:
        base: Path = ("roles", role.name)
        yield from _list((*base, "topologySpreadConstraints"), "topologySpreadConstraints", _own(view, base))
        yield from _list((*base, "ports"), "ports", role.ports)
        yield from _taken(view, (*base, "ports"), role.ports)
        for part in pod_parts.beside(view, role.name):
            yield from _inside(part)
        for part in pod_parts.specs(view, role.name):
            yield from _inside(part)


def _own(view: View, base: Path) -> Sequence[Any]:
    constraints: Sequence[Any] = view.values["roles"][base[1]]["topologySpreadConstraints"]
    return constraints


def _inside(part: Part) -> Iterator[Finding]:
    for key, value in part.data.items():
        path = (*part.path, key)
        if isinstance(value, Mapping):
            yield from _inside(Part(path, value))
        elif key in LIST_KEYS and isinstance(value, list):
            # Of the main container's mounts, duplicate-mount-path speaks.
            if key not in _NAMED and not (key == "volumeMounts" and pod_parts.name(part) == CONTAINER):
                yield from _list(path, key, value)
            for item in pod_parts.items(part, key):
                yield from _inside(item)


def _taken(view: View, path: Path, ports: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    port = view.job.structure.port
    for index, item in enumerate(ports):
        if item["containerPort"] == port:
            message = (
                f"{path_name(path)}: containerPort {port} is TensorFlow's own; remove it, or give the job another port"
            )
            yield Finding((*path, index), message)


def _list(path: Path, field: str, items: Sequence[Any]) -> Iterator[Finding]:
    known: list[Mapping[str, Any]] = []
    for index, item in enumerate(items):
        if not isinstance(item, Mapping) or item.get("$patch") == "delete":
            continue
        if any(_is_same(field, item, other) for other in known):
            yield Finding(
                (*path, index), f"{path_name(path)}: {_said(field, item)} is there already; {_way_out(field)}"
            )
        known.append(item)


def _is_same(field: str, item: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if any(key not in item or item[key] != other.get(key) for key in LIST_KEYS[field]):
        return False
    # kustomize looks at the protocol too, but only of ports that all say theirs.
    protocols = {item.get("protocol"), other.get("protocol")}
    return field != "ports" or None in protocols or len(protocols) == 1


def _said(field: str, item: Mapping[str, Any]) -> str:
    return " with ".join(f"{key} {shown(item[key])}" for key in LIST_KEYS[field])


def _way_out(field: str) -> str:
    return "where protocols differ, write both" if field == "ports" else "remove one of the two"


RULES: Final = (Rule("duplicate-entry", "error", "A list has two entries that Kubernetes takes for one.", _check),)
