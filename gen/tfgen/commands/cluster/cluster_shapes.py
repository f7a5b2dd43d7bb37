"""JSON Schemas of the fields that `tfgen plan` reads from the objects of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": ["object", "null"], "additionalProperties": _TEXT}
_AMOUNTS: Final = {"type": ["object", "null"], "additionalProperties": {"type": ["string", "number"]}}
_RESOURCES: Final = {"type": ["object", "null"], "properties": {"limits": _AMOUNTS, "requests": _AMOUNTS}}


def _list_of(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": ["array", "null"], "items": item}


def _object(required: tuple[str, ...] = (), **properties: Any) -> Mapping[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties}


def _may_be_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**schema, "type": [schema["type"], "null"]}


_EXPRESSIONS: Final = _list_of(_object(("key", "operator"), key=_TEXT, operator=_TEXT, values=_list_of(_TEXT)))
_SELECTOR: Final = _may_be_null(_object(matchLabels=_TEXTS, matchExpressions=_EXPRESSIONS))
_NODE_TERMS: Final = _list_of(_object(matchExpressions=_EXPRESSIONS, matchFields=_EXPRESSIONS))
_POD_TERMS: Final = _list_of(
    _object(
        ("topologyKey",),
        topologyKey=_TEXT,
        labelSelector=_SELECTOR,
        namespaces=_list_of(_TEXT),
        namespaceSelector=_SELECTOR,
        matchLabelKeys=_list_of(_TEXT),
        mismatchLabelKeys=_list_of(_TEXT),
    )
)
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_AFFINITY: Final = _object(
    nodeAffinity=_object((), **{_REQUIRED: _object(nodeSelectorTerms=_NODE_TERMS)}),
    podAffinity=_object((), **{_REQUIRED: _POD_TERMS}),
    podAntiAffinity=_object((), **{_REQUIRED: _POD_TERMS}),
)
_TOLERATIONS: Final = _list_of(_object(key=_TEXT, operator=_TEXT, value=_TEXT, effect=_TEXT))
_CONTAINERS: Final = _list_of(_object(name=_TEXT, resources=_RESOURCES, ports=_list_of(_object()), restartPolicy=_TEXT))
_SPREADS: Final = _list_of(
    _object(
        ("topologyKey", "maxSkew"),
        topologyKey=_TEXT,
        maxSkew={"type": "integer"},
        minDomains={"type": ["integer", "null"]},
        labelSelector=_SELECTOR,
        matchLabelKeys=_list_of(_TEXT),
    )
)
_POD_SPEC: Final = _object(
    ("containers",),
    containers=_CONTAINERS,
    initContainers=_CONTAINERS,
    overhead=_AMOUNTS,
    resources=_RESOURCES,
    nodeName=_TEXT,
    nodeSelector=_TEXTS,
    tolerations=_TOLERATIONS,
    affinity=_AFFINITY,
    topologySpreadConstraints=_SPREADS,
    priority={"type": "integer"},
    priorityClassName=_TEXT,
    runtimeClassName=_TEXT,
    volumes=_list_of(_object(("name",), name=_TEXT, persistentVolumeClaim=_object(claimName=_TEXT))),
)
_METADATA: Final = _object(("name",), name=_TEXT, namespace=_TEXT, labels=_TEXTS, deletionTimestamp=_TEXT, uid=_TEXT)
_STATES: Final = _list_of(_object(("name",), name=_TEXT, resources=_RESOURCES, allocatedResources=_AMOUNTS))
_POD_STATUS: Final = _may_be_null(
    _object(
        phase=_TEXT,
        containerStatuses=_STATES,
        initContainerStatuses=_STATES,
        resources=_RESOURCES,
        allocatedResources=_AMOUNTS,
        conditions=_list_of(_object(("type",), type=_TEXT, reason={"type": ["string", "null"]})),
    )
)
_CLAIM_STATUS: Final = _may_be_null(_object(phase=_TEXT))
_VOLUME_AFFINITY: Final = {
    "type": ["object", "null"],
    "properties": {"required": _object(nodeSelectorTerms=_NODE_TERMS)},
}
_CLAIM_REF: Final = _may_be_null(_object(namespace=_TEXT, name=_TEXT, uid=_TEXT))
_CSI_DRIVER: Final = _object(
    ("name",), name=_TEXT, allocatable=_may_be_null(_object(count={"type": ["integer", "null"]}))
)
_TAINTS: Final = _list_of(_object(("key", "effect"), key=_TEXT, effect=_TEXT, value=_TEXT))

SHAPES: Final[Mapping[str, Mapping[str, Any]]] = {
    kind: _object(("metadata", *required), metadata=_METADATA, **properties)
    for kind, required, properties in (
        (
            "Node",
            ("status",),
            {
                "spec": _may_be_null(_object(taints=_TAINTS, unschedulable={"type": "boolean"})),
                "status": _object(("allocatable",), allocatable={**_AMOUNTS, "type": "object"}),
            },
        ),
        ("Pod", ("spec",), {"spec": _POD_SPEC, "status": _POD_STATUS}),
        ("PersistentVolumeClaim", ("spec",), {"spec": _object(volumeName=_TEXT), "status": _CLAIM_STATUS}),
        (
            "PersistentVolume",
            ("spec",),
            {
                "spec": _object(
                    accessModes=_list_of(_TEXT),
                    claimRef=_CLAIM_REF,
                    nodeAffinity=_VOLUME_AFFINITY,
                    csi=_may_be_null(_object(("driver", "volumeHandle"), driver=_TEXT, volumeHandle=_TEXT)),
                )
            },
        ),
        (
            "RuntimeClass",
            (),
            {
                "overhead": _may_be_null(_object(podFixed=_AMOUNTS)),
                "scheduling": _may_be_null(_object(nodeSelector=_TEXTS, tolerations=_TOLERATIONS)),
            },
        ),
        ("PriorityClass", ("value",), {"value": {"type": "integer"}}),
        ("Namespace", (), {}),
        ("CSINode", ("spec",), {"spec": _object(drivers=_list_of(_CSI_DRIVER))}),
    )
}
"""JSON Schema of each kind. The schemas allow unlisted fields, because the objects of a cluster have more fields."""
