"""The objects that stand in job.yaml as they are, for what no other key has a word: one entry of ``objects`` each.

    objects:
      quota: {apiVersion: v1, kind: ResourceQuota, spec: {hard: {requests.nvidia.com/gpu: "8"}}}

They are values, so that nothing in them is a template's text, and an environment changes them as it does all else.
tfgen adds a name where they say none, the labels of every object of the job, and the wave of what pods look for.
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
"""What such an object's file begins with."""

_OBJECT: Final = "object"
_NAME: Final = Bound("name")
_KIND: Final = Bound(_OBJECT, "string", "kind")
_METADATA: Final = Bound("metadata", "map")
_FIELDS: Final = Bound("fields", "map")

_OWN_FIELDS: Final = ("apiVersion", "kind", "metadata")
"""What is written apart from the rest."""

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
"""The kinds that pods look for, or are measured by, when they start. Each is healthy without any pod of the job: a wave
waits for the health of the one before it. All others come with the pods, since they may wait for these."""


@cache
def literal_objects() -> ForEach:
    """The objects, by name."""
    item: Node = {
        "apiVersion": Bound(_OBJECT, "string", "apiVersion"),
        "kind": _KIND,
        "metadata": labels.literal_metadata(Default(_of_metadata("name", "string"), names.literal(_NAME)), _NAME),
        Splice("fields"): _FIELDS,
    }
    wave = MapOf({keys.SYNC_WAVE: When(_is_one_of(_KIND, BEFORE_PODS), keys.BEFORE_PODS[keys.SYNC_WAVE])})
    own_labels, own_annotations = (
        Default(_of_metadata(field, "map"), MapOf({})) for field in ("labels", "annotations")
    )
    fields = Filtered(Bound(_OBJECT, "map"), Not(_is_one_of(Bound("field"), _OWN_FIELDS)), key="field", item="content")
    for bound, expression in (
        (_FIELDS, fields),
        (labels.LITERAL_ANNOTATIONS, Merged((wave, value("annotations"), own_annotations))),
        (labels.LITERAL_LABELS, Merged((MapOf({}), value("labels"), own_labels))),
        (_METADATA, Default(Bound(_OBJECT, "map", "metadata"), MapOf({}))),
    ):
        item = Let(bound.name, expression, item)
    return ForEach(value("objects"), item, item=_OBJECT)


def _of_metadata(field: str, value_type: ValueType) -> Bound:
    return _METADATA.replaced(type=value_type, path=field)


def _is_one_of(text: Node, choices: tuple[str, ...]) -> AnyOf:
    return AnyOf(tuple(Equal(text, choice) for choice in choices))
