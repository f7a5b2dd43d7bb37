"""What a foreign pod template says of Alibaba Cloud's Elastic Container Instance, in the words of ``cloud.eci``."""

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
    """What a pod template says of the instance that its pods run on.

    Attributes:
        data: the keys of ``cloud.eci``; none where it says nothing of any.
        raw: the same as fields of a role.
        parts: where each key of ``cloud.eci`` is said, and the path of the same in a role.
    """

    data: Mapping[str, Any] = EMPTY
    raw: Mapping[str, Any] = EMPTY
    parts: Sequence[tuple[Part, Path, Path]] = ()


def take(template: Part) -> tuple[Part, Instance]:
    """A pod template without what it says of its instance, and what that is."""
    annotations = {
        key: part
        for key, part in template.entries("metadata", "annotations")
        if key.startswith(keys.ECI_PREFIX) and key.removeprefix(keys.ECI_PREFIX) in _PATHS
    }
    label = template.get("metadata", "labels", keys.ECI)
    way, placed = _way(template)
    is_labelled = label is not None and label.value in ("true", True)
    if not annotations and not is_labelled and way is None:
        return template, Instance()
    data: dict[str, Any] = {}
    raw: dict[str, Any] = {}
    parts: list[tuple[Part, Path, Path]] = []
    for key, part in annotations.items():
        name = key.removeprefix(keys.ECI_PREFIX)
        path = tuple(_PATHS[name].split("."))
        data = with_value(data, path, _value(name, part))
        place = ("podTemplate", "metadata", "annotations", key)
        raw = with_value(raw, place, part.as_text)
        parts.append((part, path, place))
    if keys.ECI_PREFIX + eci.IMAGE_CACHE not in annotations:
        data = with_value(data, ("imageCache", "match"), False)
    data["way"] = "Label" if is_labelled else way or "Serverless"
    if label is not None and is_labelled:
        place = ("podTemplate", "metadata", "labels", keys.ECI)
        raw = with_value(raw, place, "true")
        parts.append((label, ("way",), place))
    elif way:
        label_name, _ = eci.NODE_LABELS[way]
        raw |= {key: [part.data] if key == "tolerations" else {label_name: part.as_text} for key, part in placed}
        parts += [(part, ("way",), (key,)) for key, part in placed]
    template = _without(template, ("metadata", "annotations"), *annotations)
    template = _without(template, ("metadata", "labels"), *([keys.ECI] if is_labelled else []))
    return (template if is_labelled or not way else _unplaced(template, placed)), Instance(data, raw, parts)


def _value(name: str, part: Part) -> Any:
    if name == eci.IMAGE_CACHE:
        return part.as_text == "true"
    return part.as_text.split(",") if name in eci.LISTS else part.as_text


def _way(template: Part) -> tuple[str | None, list[tuple[str, Part]]]:
    """The nodes by which the pods go there, and what selects and tolerates them: both, or it is another placement."""
    for way, (label, text) in eci.NODE_LABELS.items():
        selector = template.get("spec", "nodeSelector", label)
        key, value = eci.TAINTS[way]
        wanted = {**_TAINT, "key": key, "value": value}
        toleration = next((item for item in template.items("spec", "tolerations") if item.data == wanted), None)
        if selector is not None and selector.as_text == text and toleration is not None:
            return way, [("nodeSelector", selector), ("tolerations", toleration)]
    return None, []


def _without(template: Part, path: Sequence[str], *names: str) -> Part:
    """The template without some keys of a mapping in it."""
    below = template.get(*path)
    if below is None or not names:
        return template
    return template.with_part(path, below.without(*names))


def _unplaced(template: Part, placed: Sequence[tuple[str, Part]]) -> Part:
    for key, part in placed:
        path = ("spec", key)
        below = template.get(*path)
        if below is None:
            continue
        if key == "tolerations":
            left = below.replaced(value=[item for item in below.value if item is not part])
        else:
            left = below.without(*(label for label, _ in eci.NODE_LABELS.values() if below.get(label) is part))
        template = template.with_part(path, left) if left.value else _without(template, ("spec",), key)
    return template
