"""kustomize's name references: where it writes an object's new name for the old one.

    references({"spec": {"serviceName": "mnist", ...}})  ->  ("Service", "mnist"), ...

A patch that renames an object makes kustomize look for its old name in all others. What tfgen writes names the new one
already. But a user's own reference may say what another environment calls one of ours, and must not be followed.
The fields: https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/konfig/builtinpluginconsts/namereference.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

# Of the kinds that a run names. Under a field stands a name, something with a `name`, or a list of these.
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
    """The kind and the name that each reference in an object says: all that kustomize follows, and perhaps more."""
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
