"""Finds the references to object names that kustomize updates after the rename of an object.

>>> list(references({"spec": {"serviceName": "mnist"}}))
[('Service', 'mnist')]

If a patch renames an object, kustomize replaces the old name in the references of all objects. References in the
objects of tfgen already contain the new name. A reference of the user may name an object in another environment, and
must not change. kustomize updates the references in these fields:
https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/konfig/builtinpluginconsts/namereference.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

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


def references(node: Any) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each reference in an object, including references that kustomize may ignore."""
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
