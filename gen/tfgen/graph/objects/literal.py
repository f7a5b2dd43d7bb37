"""The objects under ``objects`` of a job file: objects that the other fields of the job do not describe.

    objects:
      quota: {apiVersion: v1, kind: ResourceQuota, spec: {hard: {requests.nvidia.com/gpu: "8"}}}

The objects are values of the chart. So Helm does not evaluate template expressions in the objects, and an environment
may change the objects. tfgen adds the labels of the job, and a name if the object has no name. If the pods need the
object, tfgen also adds a sync wave, so that Argo CD applies the object before the pods.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tfgen.graph.holes import (
    AnyOf,
    Bound,
    Default,
    Equal,
    Filtered,
    ForEach,
    Let,
    MapOf,
    Merged,
    Node,
    Not,
    Splice,
    When,
)
from tfgen.graph.objects import labels, names
from tfgen.graph.objects.values import value
from tfgen.kubernetes import keys
from tfgen.value_type import ValueType

LITERAL: Final = "object"
"""The prefix of the file name of each object under `objects`."""

_OBJECT: Final = "object"
_NAME: Final = Bound("name")
_KIND: Final = Bound(_OBJECT, "string", "kind")
_METADATA: Final = Bound("metadata", "map")
_FIELDS: Final = Bound("fields", "map")

_TFGEN_FIELDS: Final = ("apiVersion", "kind", "metadata")
"""The fields that tfgen writes itself in each object. The chart contains all other fields of the object unchanged."""

BEFORE_PODS: Final = (
    "ConfigMap",
    "ExternalSecret",
    "LimitRange",
    "NetworkPolicy",
    "ResourceQuota",
    "Role",
    "RoleBinding",
    "SealedSecret",
    "Secret",
    "SecretProviderClass",
    "ServiceAccount",
)
"""The kinds of objects that a pod needs at its start, or that limit the pod. Argo CD applies these objects first.

Argo CD waits until the objects of a sync wave are healthy, so each of these kinds must be healthy without a pod of the
job. An object of another kind may become healthy only with the pods, so Argo CD applies the object and the pods
together."""


@cache
def literal_objects() -> ForEach:
    """Return the objects under `objects` of the job file, in the order of the keys."""
    item: Node = {
        "apiVersion": Bound(_OBJECT, "string", "apiVersion"),
        "kind": _KIND,
        "metadata": labels.literal_metadata(Default(_metadata_field("name", "string"), names.literal(_NAME)), _NAME),
        Splice("fields"): _FIELDS,
    }
    wave = MapOf({keys.SYNC_WAVE: When(_is_one_of(_KIND, BEFORE_PODS), keys.BEFORE_PODS[keys.SYNC_WAVE])})
    object_labels, object_annotations = (
        Default(_metadata_field(field, "map"), MapOf({})) for field in ("labels", "annotations")
    )
    is_tfgen_field = _is_one_of(Bound("field"), _TFGEN_FIELDS)
    fields = Filtered(Bound(_OBJECT, "map"), Not(is_tfgen_field), key="field", item="content")
    for bound, expression in (
        (_FIELDS, fields),
        (labels.LITERAL_ANNOTATIONS, Merged((wave, value("annotations"), object_annotations))),
        (labels.LITERAL_LABELS, Merged((MapOf({}), value("labels"), object_labels))),
        (_METADATA, Default(Bound(_OBJECT, "map", "metadata"), MapOf({}))),
    ):
        item = Let(bound.name, expression, item)
    return ForEach(value("objects"), item, item=_OBJECT)


def _metadata_field(field: str, value_type: ValueType) -> Bound:
    return _METADATA.replaced(type=value_type, path=field)


def _is_one_of(text: Node, choices: tuple[str, ...]) -> AnyOf:
    return AnyOf(tuple(Equal(text, choice) for choice in choices))
