"""The types of the fields that a plan reads from the objects of a cluster.

A file of nodes may be written by hand, so the API server has not checked its objects. `check_fields` refuses a wrong
type before another step reads the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from tfgen.kubernetes import quantity
from tfgen.kubernetes.object import Object
from tfgen.record import Record

Type: TypeAlias = "str | list[Type] | Mapping[str, Type]"
"""A scalar type, a list with the type of its items, or a mapping with the types of its fields.

A name of a field that ends with `!` is required, and the name `*` stands for all names.
"""

_TEXT: Final = "text"
_NUMBER: Final = "number"
_QUANTITY: Final = "quantity"
_TEXTS: Final[Type] = {"*": _TEXT}
_AMOUNTS: Final[Type] = {"*": _QUANTITY}
_EXPRESSIONS: Final[Type] = [{"key!": _TEXT, "operator!": _TEXT, "values": [_TEXT]}]
_SELECTOR: Final[Type] = {"matchLabels": _TEXTS, "matchExpressions": _EXPRESSIONS}
_NODE_TERMS: Final[Type] = {
    "nodeSelectorTerms": [{"matchExpressions": _EXPRESSIONS, "matchFields": _EXPRESSIONS}],
}
_POD_TERMS: Final[Type] = [
    {
        "topologyKey!": _TEXT,
        "labelSelector": _SELECTOR,
        "namespaceSelector": _SELECTOR,
        "namespaces": [_TEXT],
        "matchLabelKeys": [_TEXT],
        "mismatchLabelKeys": [_TEXT],
    }
]
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_TOLERATIONS: Final[Type] = [{"key": _TEXT, "operator": _TEXT, "value": _TEXT, "effect": _TEXT}]
_CONTAINERS: Final[Type] = [
    {
        "name": _TEXT,
        "restartPolicy": _TEXT,
        "resources": {"limits": _AMOUNTS, "requests": _AMOUNTS},
        "ports": [{"containerPort": _NUMBER, "hostPort": _NUMBER, "hostIP": _TEXT, "protocol": _TEXT}],
    }
]
_CLAIM: Final[Type] = {
    "storageClassName": _TEXT,
    "volumeName": _TEXT,
    "volumeAttributesClassName": _TEXT,
    "accessModes": [_TEXT],
    "resources": {"requests": _AMOUNTS},
}

_FIELDS: Final[Mapping[str, Mapping[str, Type]]] = {
    "Node": {
        "spec": {"taints": [{"key!": _TEXT, "effect!": _TEXT, "value": _TEXT}]},
        "status": {"allocatable": _AMOUNTS},
    },
    "Pod": {
        "spec": {
            "nodeName": _TEXT,
            "priorityClassName": _TEXT,
            "runtimeClassName": _TEXT,
            "nodeSelector": _TEXTS,
            "tolerations": _TOLERATIONS,
            "overhead": _AMOUNTS,
            "containers": _CONTAINERS,
            "initContainers": _CONTAINERS,
            "affinity": {
                "nodeAffinity": {_REQUIRED: _NODE_TERMS},
                "podAffinity": {_REQUIRED: _POD_TERMS},
                "podAntiAffinity": {_REQUIRED: _POD_TERMS},
            },
            "topologySpreadConstraints": [
                {
                    "topologyKey!": _TEXT,
                    "maxSkew!": _NUMBER,
                    "minDomains": _NUMBER,
                    "labelSelector": _SELECTOR,
                    "matchLabelKeys": [_TEXT],
                }
            ],
            "volumes": [
                {
                    "name!": _TEXT,
                    "persistentVolumeClaim": {"claimName!": _TEXT},
                    "ephemeral": {"volumeClaimTemplate": {"spec": _CLAIM}},
                }
            ],
            "resourceClaims": [{"name!": _TEXT, "resourceClaimName": _TEXT, "resourceClaimTemplateName": _TEXT}],
        },
        "status": {"phase": _TEXT},
    },
    "Namespace": {"status": {"phase": _TEXT}},
    "ResourceQuota": {
        "spec": {
            "hard": _AMOUNTS,
            "scopes": [_TEXT],
            "scopeSelector": {
                "matchExpressions": [{"scopeName!": _TEXT, "operator!": _TEXT, "values": [_TEXT]}],
            },
        },
        "status": {"used": _AMOUNTS},
    },
    "LimitRange": {
        "spec": {
            "limits": [
                {
                    "type!": _TEXT,
                    **dict.fromkeys(("default", "defaultRequest", "max", "maxLimitRequestRatio", "min"), _AMOUNTS),
                }
            ]
        }
    },
    "PersistentVolumeClaim": {"spec": _CLAIM, "status": {"phase": _TEXT}},
    "PersistentVolume": {
        "spec!": {
            "storageClassName": _TEXT,
            "accessModes": [_TEXT],
            "claimRef": {"namespace": _TEXT, "name": _TEXT, "uid": _TEXT},
            "csi": {"driver!": _TEXT, "volumeHandle!": _TEXT},
            "nodeAffinity": {"required": _NODE_TERMS},
        },
        "status": {"phase": _TEXT},
    },
    "StorageClass": {
        "provisioner": _TEXT,
        "volumeBindingMode": _TEXT,
        "allowedTopologies": [{"matchLabelExpressions": [{"key!": _TEXT, "values!": [_TEXT]}]}],
    },
    "CSINode": {"spec": {"drivers": [{"name!": _TEXT, "allocatable": {"count": _NUMBER}}]}},
    "RuntimeClass": {
        "overhead": {"podFixed": _AMOUNTS},
        "scheduling": {"nodeSelector": _TEXTS, "tolerations": _TOLERATIONS},
    },
    "PriorityClass": {"value!": _NUMBER, "preemptionPolicy": _TEXT},
    "DeviceClass": {"spec": {"extendedResourceName": _TEXT}},
}
"""The fields of each kind. The module `devices` reads all other fields of the kinds of dynamic resource allocation."""

_OF_EVERY_KIND: Final[Mapping[str, Type]] = {
    "metadata": {"namespace": _TEXT, "labels": _TEXTS, "annotations": _TEXTS},
    "spec": {},
    "status": {},
}


class _Fields(Record):
    """The types of the fields of a mapping, by name, and the names of the required fields."""

    types: Mapping[str, Any]
    required: tuple[str, ...]


def _compiled(of: Type) -> Any:
    """Return a type with a `_Fields` for each mapping. A file of nodes has many pods, so the check must be fast."""
    if isinstance(of, list):
        return [_compiled(of[0])]
    if isinstance(of, str):
        return of
    required = tuple(name.removesuffix("!") for name in of if name.endswith("!"))
    return _Fields({name.removesuffix("!"): _compiled(of_field) for name, of_field in of.items()}, required)


_UNKNOWN_KIND: Final = _compiled(_OF_EVERY_KIND)
_KINDS: Final = {kind: _compiled({**_OF_EVERY_KIND, **fields}) for kind, fields in _FIELDS.items()}


def check_fields(item: Object) -> None:
    """Check the types of the fields of an object that a plan reads. A field with the value null has any type.

    Raises:
        ValueError: a field has a wrong type, or a required field is missing. The text of the error names the field.
    """
    _check(item, _KINDS.get(item["kind"], _UNKNOWN_KIND), ())


def _check(value: Any, expected: Any, path: tuple[Any, ...]) -> None:
    """Check a value. `path` is a pair of the path of the parent and the key of the value; empty for the object."""
    if isinstance(expected, _Fields):
        _require(isinstance(value, (dict, Mapping)), path)
        for name in expected.required:
            if value.get(name) is None:
                raise ValueError(f"the field {_text((path, name))} is missing")
        of_all = expected.types.get("*")
        for key, item in value.items():
            of_field = expected.types.get(key, of_all)
            if of_field is not None and item is not None:
                _check(item, of_field, (path, key))
    elif isinstance(expected, list):
        _require(isinstance(value, list | tuple), path)
        for index, item in enumerate(value):
            _check(item, expected[0], (path, index))
    elif expected == _QUANTITY:
        quantity.parse(value)
    else:
        _require(type(value) is int if expected == _NUMBER else isinstance(value, str), path)


def _require(is_right: bool, path: tuple[Any, ...]) -> None:
    if not is_right:
        raise ValueError(f"the field {_text(path)} has a value of a wrong type")


def _text(path: tuple[Any, ...]) -> str:
    if not path:
        return ""
    parent, key = _text(path[0]), path[1]
    return f"{parent}[{key}]" if isinstance(key, int) else f"{parent}.{key}".removeprefix(".")
