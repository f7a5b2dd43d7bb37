"""What goes to Kubernetes as it is written, in a shape that cannot be merged.

A strategic merge goes by a key of each item of a list (`name`, `mountPath`), so the list must be one, and each item a
mapping with that key. Of the merge's directives only `$patch: delete` in a list's item is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.document import Path
from tfgen.objects.pod_template import MERGE_KEYS
from tfgen.rules import pod_parts
from tfgen.rules.pod_parts import Part
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View
from tfgen.schema_words import path_name

# Maps of text by keys of the user's own, which may be called as those lists are.
_TEXTS: Final = ("annotations", "labels", "matchLabels", "nodeSelector")


def _check(view: View) -> Iterator[Finding]:
    for role in view.roles:
        for part in (*pod_parts.beside(view, role.name), *pod_parts.templates(view, role.name)):
            yield from _inside(part)


def _inside(part: Part) -> Iterator[Finding]:
    for key, value in part.data.items():
        path = (*part.path, key)
        if key.startswith("$"):
            yield Finding(path, f"{path_name(path)}: the only directive is $patch: delete, in an item of a list")
        elif value is None:
            continue
        elif key in MERGE_KEYS:
            yield from _list(path, value, MERGE_KEYS[key])
        elif key in (*_TEXTS, "securityContext") and not isinstance(value, Mapping):
            yield _expected(path, "a mapping")
        elif key in _TEXTS:
            yield from (_expected((*path, name), "text") for name, text in value.items() if not _is_name(text))
        elif isinstance(value, Mapping):
            yield from _inside(Part(path, value))


def _list(path: Path, value: Any, merge_key: str) -> Iterator[Finding]:
    if not isinstance(value, list):
        yield _expected(path, "a list")
        return
    for index, item in enumerate(value):
        here = (*path, index)
        if not isinstance(item, Mapping) or not _is_name(item.get(merge_key, [])):
            yield _expected(here, f"a mapping with the key {merge_key}")
        elif item.get("$patch") != "delete":
            yield from _inside(Part(here, item))


def _is_name(value: Any) -> bool:
    """Whether it is a scalar, or the null that removes one."""
    return not isinstance(value, (Mapping, list))


def _expected(path: Path, what: str) -> Finding:
    return Finding(path, f"{path_name(path)}: expected {what}, as Kubernetes has it")


RULES: Final = (Rule("wrong-shape", "error", "A part of a pod cannot be merged as it is written.", _check),)
