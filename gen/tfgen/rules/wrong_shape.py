"""What goes to Kubernetes as it is written, in a shape that it does not have, or that cannot be merged.

The types are Kubernetes' own (`schema.pod_fields`). A strategic merge goes by a key of each item of a list (`name`,
`mountPath`), so the list must be one, and each item a mapping with that key. Of the merge's directives only
`$patch: delete` in a list's item is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.kubernetes.merge_keys import MERGE_KEYS
from tfgen.rules import pod_parts
from tfgen.rules.pod_parts import Part
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View
from tfgen.schema import pod_fields
from tfgen.schema.messages import found_words
from tfgen.schema.pod_fields import Misfit, Text
from tfgen.words import path_name

# Maps by keys of the user's own, which may be called as those lists are.
_TEXTS: Final = ("annotations", "labels", "matchLabels", "nodeSelector")
_KEYS: Final = frozenset(MERGE_KEYS.values())


def _parts(view: View) -> Iterator[tuple[Path, Any, str]]:
    """All that the schema lets through as it is written, each with the type that Kubernetes gives it."""
    for role in view.roles:
        yield from ((part.path, part.data, "Container") for part in pod_parts.beside(view, role.name))
        yield from ((part.path, part.data, "PodTemplateSpec") for part in pod_parts.templates(view, role.name))
    for base in ((), *(("roles", role.name) for role in view.roles)):
        values = view.values["roles"][base[1]] if base else view.values
        path: Path = (*base, "topologySpreadConstraints")
        for index, constraint in enumerate(values["topologySpreadConstraints"]):
            yield (*path, index, "labelSelector"), constraint.get("labelSelector"), "LabelSelector"
    for name, volume in view.values["storage"].items():
        projected = volume.get("projected") or {}
        yield ("storage", name, "projected", "sources"), projected.get("sources"), "[VolumeProjection]"


def _misfits(view: View) -> Iterator[Misfit]:
    for path, data, kind in _parts(view):
        yield from pod_fields.misfits(path, data, kind, view.text)


def _of(kind: str) -> Callable[[View], Iterator[Finding]]:
    def check(view: View) -> Iterator[Finding]:
        yield from (Finding(misfit.path, misfit.message) for misfit in _misfits(view) if misfit.kind == kind)

    return check


def _shapes(view: View) -> Iterator[Finding]:
    found = list(_of("shape")(view))
    yield from found
    said = {finding.path for finding in found}
    for role in view.roles:
        for part in (*pod_parts.beside(view, role.name), *pod_parts.templates(view, role.name)):
            for finding in _unmerged(part, view.text):
                if not any(path in said for path in (finding.path, *((*finding.path, key) for key in _KEYS))):
                    yield finding


def _unmerged(part: Part, text: Text) -> Iterator[Finding]:
    for key, value in part.data.items():
        path = (*part.path, key)
        if key.startswith("$"):
            yield Finding(path, f"{path_name(path)}: the only directive is $patch: delete, in an item of a list")
        elif value is None or key in _TEXTS:
            continue
        elif key in MERGE_KEYS:
            yield from _list(path, value, MERGE_KEYS[key], text)
        elif isinstance(value, Mapping):
            yield from _unmerged(Part(path, value), text)


def _list(path: Path, value: Any, merge_key: str, text: Text) -> Iterator[Finding]:
    item_such_as = f"{{{merge_key}: ...}}"
    if not isinstance(value, list):
        yield _expected(path, value, f"a list such as [{item_such_as}]", text)
        return
    for index, item in enumerate(value):
        here = (*path, index)
        if not isinstance(item, Mapping) or not _tells_apart(item.get(merge_key)):
            yield _expected(here, item, f"one with the key {merge_key}, as in {item_such_as}", text)
        elif item.get("$patch") != "delete":
            yield from _unmerged(Part(here, item), text)


def _tells_apart(key: Any) -> bool:
    return key is not None and not isinstance(key, (Mapping, list))


def _expected(path: Path, value: Any, what: str, text: Text) -> Finding:
    written = "" if isinstance(value, (Mapping, list)) else text(path)
    return Finding(path, f"{path_name(path)}: found {found_words(value, written)}, expected {what}")


RULES: Final = (
    Rule("misspelt-field", "error", "A field of a pod is one slip from one that Kubernetes has.", _of("misspelt")),
    Rule("unknown-field", "warning", "A field of a pod is none that tfgen knows of Kubernetes.", _of("unknown")),
    Rule("wrong-shape", "error", "A part of a pod does not have the shape that Kubernetes gives it.", _shapes),
)
