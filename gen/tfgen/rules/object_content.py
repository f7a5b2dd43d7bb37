"""Objects of the job that no API server takes: a misspelt kind, or data of a ConfigMap that is no text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.kubernetes.kinds import KINDS, find_groups
from tfgen.kubernetes.object import group
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema.messages import found_words, hint_for_value
from tfgen.words import NEAR, either, nearest, shown

_TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "ConfigMap": ("data", "binaryData"),
    "Secret": ("data", "stringData"),
}
"""The fields of a kind of the core group whose entries are texts."""


def _check_kinds(view: View) -> Iterator[Finding]:
    for name, item in view.values["objects"].items():
        message = _of_kind(group(item), item["kind"], item["apiVersion"])
        if message:
            yield Finding(("objects", name, "kind"), message)


def _of_kind(group_name: str, kind: str, version: str) -> str:
    """The mistake in a kind of one of Kubernetes' own groups; empty for a group that tfgen does not know."""
    kinds = KINDS.get(group_name)
    if kinds is None or kind in kinds:
        return ""
    groups = find_groups(kind)
    if groups:
        return f"{version} has no kind {shown(kind)}, which is of the group {either(map(_group_name, groups))}"
    near = nearest(kind, kinds, NEAR)
    return f"{version} has no kind {shown(kind)}; did you mean {shown(near)}?" if near else ""


def _group_name(group_name: str) -> str:
    return shown(group_name) if group_name else "core, of v1"


def _check_texts(view: View) -> Iterator[Finding]:
    for name, item in view.values["objects"].items():
        if item["apiVersion"] != "v1":
            continue
        for field in _TEXTS.get(item["kind"], ()):
            data: Any = item.get(field)
            path = ("objects", name, field)
            if data is not None and not isinstance(data, Mapping):
                words = found_words(data, view.text(path))
                yield Finding(path, f"found {words}, expected a mapping, as {field} of a {item['kind']} is")
                continue
            for key, value in (data or {}).items():
                if not isinstance(value, str):
                    text = view.text((*path, key))
                    words, cure = found_words(value, text), hint_for_value(value, text, {"type": "string"})
                    message = f"found {words}, expected text, as each entry of a {item['kind']}'s {field} is{cure}"
                    yield Finding((*path, key), message)


RULES: Final = (
    Rule("object-data", "error", "An entry of a ConfigMap or Secret is not text.", _check_texts),
    Rule("object-kind", "error", "Kubernetes has no such kind.", _check_kinds),
)
