"""Finds the fields in which kustomize replaces the name of a renamed object, and replaces the name in the same way.

>>> list(references({"spec": {"serviceName": "mnist"}}))
[('Service', 'mnist')]

If a patch renames an object, kustomize replaces the old name in the references of all objects. So the patches that
rename the objects of tfgen omit these references. A reference of the user may name an object in another environment,
and must not change. kustomize updates the references in these fields:
https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/konfig/builtinpluginconsts/namereference.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen.kubernetes.object import Object

NewNames: TypeAlias = Mapping[tuple[str, str], str]
"""The new name of each renamed object, by kind and old name. Example: {("Service", "mnist"): "mnist-2"}."""

# The kinds whose names contain the run. The value of a field is a name, a mapping with `name`, or a list of both.
_KINDS: Final[Mapping[str, str]] = {
    "configMap": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "configMapRef": "ConfigMap",
    "resourceNames": "ConfigMap",
    "roleRef": "Role",
    "serviceAccountName": "ServiceAccount",
    "serviceName": "Service",
    "subjects": "ServiceAccount",
}

_POD_FIELDS: Final = (
    ("ServiceAccount", ("serviceAccountName",)),
    ("ConfigMap", ("volumes", "configMap", "name")),
    ("ConfigMap", ("volumes", "projected", "sources", "configMap", "name")),
    *(
        ("ConfigMap", (containers, *path))
        for containers in ("containers", "initContainers")
        for path in (("env", "valueFrom", "configMapKeyRef", "name"), ("envFrom", "configMapRef", "name"))
    ),
)
"""The fields of a pod that may name an object of a run: the kind of the named object, and the path of the field."""

_TEMPLATE_FIELDS: Final = tuple((kind, ("spec", "template", "spec", *path)) for kind, path in _POD_FIELDS)

_FIELDS: Final[Mapping[str, Sequence[tuple[str, tuple[str, ...]]]]] = {
    "Deployment": _TEMPLATE_FIELDS,
    "Job": _TEMPLATE_FIELDS,
    "Pod": tuple((kind, ("spec", *path)) for kind, path in _POD_FIELDS),
    "RoleBinding": (("Role", ("roleRef", "name")), ("ServiceAccount", ("subjects", "name"))),
    "StatefulSet": (("Service", ("spec", "serviceName")), *_TEMPLATE_FIELDS),
}
"""The references in an object that kustomize updates, by kind of the object.

A reference is the kind of the named object, and the path of the field."""


def new_names(pairs: Iterable[tuple[Object, Object]]) -> NewNames:
    """Return the new name of each renamed object. Example: {("Service", "mnist"): "mnist-2"}.

    Each item of `pairs` contains an object before and after the rename. The key of the result contains the kind and the
    old name of the object.
    """
    names = ((old["kind"], old["metadata"]["name"], new["metadata"]["name"]) for old, new in pairs)
    return {(kind, old): new for kind, old, new in names if old != new}


def with_new_names(item: Object, names: NewNames) -> Object:
    """Return an object in which each reference to a renamed object has the new name.

    Only the fields in which kustomize updates references change.
    """
    for kind, path in _FIELDS.get(item["kind"], ()) if names else ():
        item = _replaced(item, path, {old: new for (renamed_kind, old), new in names.items() if renamed_kind == kind})
    return item


def _replaced(node: Any, path: Sequence[str], names: Mapping[str, str]) -> Any:
    """Return a part of an object in which the value at `path` has the new name. `names` contains new names by old name.

    If the path leads through a list, change each item of the list.
    """
    if isinstance(node, list):
        return [_replaced(child, path, names) for child in node]
    if not path:
        return names.get(node, node) if isinstance(node, str) else node
    key, *remaining = path
    if not isinstance(node, Mapping) or key not in node:
        return node
    return {**node, key: _replaced(node[key], remaining, names)}


def references(node: Any) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each object to which an object may refer. kustomize may ignore some references."""
    if isinstance(node, Mapping):
        for key, child in node.items():
            for target in child if isinstance(child, list) else [child]:
                name = target.get("name") if isinstance(target, Mapping) else target
                if key in _KINDS and isinstance(name, str):
                    yield _KINDS[key], name
            yield from references(child)
    elif isinstance(node, list):
        for child in node:
            yield from references(child)
