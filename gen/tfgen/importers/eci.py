"""Converter of the settings for Alibaba Cloud's Elastic Container Instance in a pod template to ``cloud.eci``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import Path, with_value
from tfgen.importers.part import Part
from tfgen.kubernetes import eci, keys
from tfgen.record import EMPTY, Record

_PATHS: Final[Mapping[str, str]] = {**eci.TEXTS, **eci.LISTS, eci.IMAGE_CACHE: "imageCache.match"}
_TAINT: Final = {"operator": "Equal", "effect": "NoSchedule"}


class Instance(Record):
    """Settings of the cloud instances on which the pods of a pod template run.

    Attributes:
        data: the keys of ``cloud.eci``; empty for a pod template without such settings.
        role_fields: the same settings as fields of a role, for a job whose roles have different settings.
        parts: each setting as (value in the source, path of the setting in `data`, path in `role_fields`).
    """

    data: Mapping[str, Any] = EMPTY
    role_fields: Mapping[str, Any] = EMPTY
    parts: Sequence[tuple[Part, Path, Path]] = ()


def extract_instance(template: Part) -> tuple[Part, Instance]:
    """Separate the settings of Alibaba Cloud's instances from a pod template.

    Return the pod template without these settings, and the settings.
    """
    annotations = {
        key: part
        for key, part in template.entries("metadata", "annotations")
        if key.startswith(keys.ECI_PREFIX) and key.removeprefix(keys.ECI_PREFIX) in _PATHS
    }
    label = template.get("metadata", "labels", keys.ECI)
    way, placement = _virtual_node_placement(template)
    is_labelled = label is not None and label.value in ("true", True)
    if not annotations and not is_labelled and way is None:
        return template, Instance()
    data: dict[str, Any] = {}
    role_fields: dict[str, Any] = {}
    parts: list[tuple[Part, Path, Path]] = []
    for key, part in annotations.items():
        name = key.removeprefix(keys.ECI_PREFIX)
        path = tuple(_PATHS[name].split("."))
        data = with_value(data, path, _value(name, part))
        role_path = ("podTemplate", "metadata", "annotations", key)
        role_fields = with_value(role_fields, role_path, part.as_text)
        parts.append((part, path, role_path))
    if keys.ECI_PREFIX + eci.IMAGE_CACHE not in annotations:
        data = with_value(data, ("imageCache", "match"), False)
    data["way"] = "Label" if is_labelled else way or "Serverless"
    if label is not None and is_labelled:
        role_path = ("podTemplate", "metadata", "labels", keys.ECI)
        role_fields = with_value(role_fields, role_path, "true")
        parts.append((label, ("way",), role_path))
    elif way:
        label_name, _ = eci.NODE_LABELS[way]
        role_fields |= {
            key: [part.data] if key == "tolerations" else {label_name: part.as_text} for key, part in placement
        }
        parts += [(part, ("way",), (key,)) for key, part in placement]
    template = _without(template, ("metadata", "annotations"), *annotations)
    template = _without(template, ("metadata", "labels"), *([keys.ECI] if is_labelled else []))
    return (template if is_labelled or not way else _without_placement(template, placement)), Instance(
        data, role_fields, parts
    )


def _value(name: str, part: Part) -> Any:
    if name == eci.IMAGE_CACHE:
        return part.as_text == "true"
    return part.as_text.split(",") if name in eci.LISTS else part.as_text


def _virtual_node_placement(template: Part) -> tuple[str | None, list[tuple[str, Part]]]:
    """Return the kind of virtual nodes that a pod template selects, and the two fields that select these nodes.

    Example: ("VNode", [("nodeSelector", value of the label), ("tolerations", toleration)]). A template that selects no
    virtual nodes gets (None, []).
    """
    for way, (label, text) in eci.NODE_LABELS.items():
        selector = template.get("spec", "nodeSelector", label)
        key, value = eci.TAINTS[way]
        expected = {**_TAINT, "key": key, "value": value}
        toleration = next((item for item in template.items("spec", "tolerations") if item.data == expected), None)
        if selector is not None and selector.as_text == text and toleration is not None:
            return way, [("nodeSelector", selector), ("tolerations", toleration)]
    return None, []


def _without(template: Part, path: Sequence[str], *names: str) -> Part:
    """Return a copy of the template without the keys `names` in the mapping at the path `path`."""
    parent = template.get(*path)
    if parent is None or not names:
        return template
    return template.with_part(path, parent.without(*names))


def _without_placement(template: Part, placement: Sequence[tuple[str, Part]]) -> Part:
    for key, part in placement:
        path = ("spec", key)
        field = template.get(*path)
        if field is None:
            continue
        if key == "tolerations":
            remaining = field.replaced(value=[item for item in field.value if item is not part])
        else:
            remaining = field.without(*(label for label, _ in eci.NODE_LABELS.values() if field.get(label) is part))
        template = template.with_part(path, remaining) if remaining.value else _without(template, ("spec",), key)
    return template
