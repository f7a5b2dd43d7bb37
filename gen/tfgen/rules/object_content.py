"""Objects of the job whose kind does not exist in the API group of the object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.kubernetes.kinds import KINDS, find_groups
from tfgen.kubernetes.object import group
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import NEAR, either, nearest, shown


def _check_kinds(view: View) -> Iterator[Finding]:
    for name, item in view.values["objects"].items():
        message = _kind_fault(group(item), item["kind"], item["apiVersion"])
        if message:
            yield Finding(("objects", name, "kind"), message)


def _kind_fault(group_name: str, kind: str, version: str) -> str:
    """Return the message for a kind that the given API group lacks; empty for a correct kind, or for a custom group."""
    kinds = KINDS.get(group_name)
    if kinds is None or kind in kinds:
        return ""
    groups = find_groups(kind)
    if groups:
        return f"{version} has no kind {shown(kind)}; the kind is in the group {either(map(_group_name, groups))}"
    near = nearest(kind, kinds, NEAR)
    return f"{version} has no kind {shown(kind)}; did you mean {shown(near)}?" if near else ""


def _group_name(group_name: str) -> str:
    return shown(group_name) if group_name else "core, whose apiVersion is v1"


RULES: Final = (
    Rule("object-kind", "error", "The API group of an object does not contain the kind of the object.", _check_kinds),
)
