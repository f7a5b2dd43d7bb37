"""What changes one object into another, as a patch that a reviewer can read; `kubernetes.merge` goes the way back.

strategic_merge_patch({"spec": {"a": 1, "b": 2}}, {"spec": {"a": 1, "b": 3}})  ->  {"spec": {"b": 3}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tfgen.kubernetes.merge import REPLACE
from tfgen.kubernetes.merge_keys import TOP_LISTS, kustomize_keys
from tfgen.kubernetes.object import Object, group
from tfgen.record import EMPTY

_Keys = Mapping[str, Sequence[str]]
"""The lists that merge item by item, each with the fields that tell its items apart."""


def merge_patch(before: Object, after: Object) -> dict[str, Any]:
    """A JSON merge patch (RFC 7386): null removes, lists are whole."""
    return _difference(before, after, EMPTY)


def strategic_merge_patch(before: Object, after: Object) -> dict[str, Any]:
    """A strategic merge patch: the lists of `kustomize_keys` item by item.

    kustomize puts the items that a patch names before those that it does not, so a patch of such a list names all items
    up to the last that is new or changes, in the order wanted:
    https://github.com/kubernetes-sigs/kustomize/issues/4045. Where several keys tell the items apart, it leaves those
    that are there where they are, so a patch replaces such a list. So it does where one key does not tell them apart,
    such as two ports of one number.
    """
    return _difference(before, after, kustomize_keys(after.get("kind", "")))


def replacing_patch(before: Object, after: Object) -> dict[str, Any]:
    """A patch of an object whose lists tfgen does not know: what holds another list is replaced whole.

    So nothing depends on whether kustomize knows the kind, and by which keys it merges its lists. It takes the
    directive in any mapping but the object itself; of the lists there, it merges those of `TOP_LISTS`.
    """
    merging = TOP_LISTS.get((group(before), before["kind"]), ())
    patch = _replacing(before, after)
    return {
        key: [dict(REPLACE), *value] if key in merging and isinstance(value, list) else value
        for key, value in patch.items()
    }


def changes_shape(before: Object, after: Object) -> bool:
    """Return whether a field of the object itself changes its shape: a mapping, a list or a scalar becomes another.

    kustomize refuses a merge patch with such a change, and takes no directive in the object itself.
    """
    return any(_shape(value) != _shape(after[key]) for key, value in before.items() if key in after)


def _shape(value: Any) -> type:
    return type(value) if isinstance(value, dict | list) else str


def has_bare_item(patch: Object) -> bool:
    """Whether a list of a strategic merge patch has an item that changes nothing, and only keeps the order."""
    return _has_bare_item(patch, kustomize_keys(patch.get("kind", "")))


def _has_bare_item(patch: Any, keys: _Keys) -> bool:
    if not isinstance(patch, dict):
        return False
    keyed = [(keys[key], inner or ()) for key, inner in patch.items() if key in keys]
    inside = [child for item in patch.values() for child in (item if isinstance(item, list) else [item])]
    return any(item.keys() <= {*names} for names, items in keyed for item in items) or any(
        _has_bare_item(child, keys) for child in inside
    )


def _difference(before: Object, after: Object, keys: _Keys) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for key in [*after, *(key for key in before if key not in after)]:
        if key not in after:
            patch[key] = None
        elif key not in before:
            patch[key] = after[key]
        elif before[key] != after[key]:
            patch[key] = _changed(key, before[key], after[key], keys)
    return patch


def _replacing(before: Object, after: Object) -> dict[str, Any]:
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        was = before.get(key)
        if key in before and _is_same(was, value):
            continue
        if isinstance(was, dict) and isinstance(value, dict):
            patch[key] = {**REPLACE, **value} if _is_merged_otherwise(was, value) else _replacing(was, value)
        else:
            patch[key] = value
    return patch


def _is_merged_otherwise(before: Object, after: Object) -> bool:
    """Return whether two mappings differ in a list, or in the shape of a field: kustomize merges neither."""
    pairs = [(before[key], value) for key, value in after.items() if key in before]
    return any(isinstance(was, list) or _shape(was) != _shape(now) for was, now in pairs if not _is_same(was, now))


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values have the same text: to Python, true is 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _changed(key: str, before: Any, after: Any, keys: _Keys) -> Any:
    if isinstance(before, dict) and isinstance(after, dict):
        return _difference(before, after, keys)
    if key in keys and isinstance(before, list) and isinstance(after, list):
        return _items(before, after, keys[key], keys)
    return after


def _items(
    before: Sequence[Object], after: Sequence[Object], names: Sequence[str], keys: _Keys
) -> list[dict[str, Any]]:
    old, new = _by_names(before, names), _by_names(after, names)
    if len(names) > 1 or len(old) < len(before) or len(new) < len(after):
        return [dict(REPLACE), *(dict(item) for item in after)]
    patches = [
        {**_named(item, names), **_difference(old[key], item, keys)} if key in old else dict(item)
        for key, item in new.items()
    ]
    gone = [{"$patch": "delete", **_named(item, names)} for key, item in old.items() if key not in new]
    return patches[: _named_first(patches, list(old), list(new), names)] + gone


def _named_first(patches: Sequence[Object], old: Sequence[Any], new: Sequence[Any], names: Sequence[str]) -> int:
    """How many items, from the first on, a patch must name: those behind them stay, and come in their old order."""
    count = len(patches)
    while count and patches[count - 1].keys() <= {*names}:
        rest = new[count - 1 :]
        if [key for key in old if key in rest] != rest:
            break
        count -= 1
    return count


def _by_names(items: Sequence[Object], names: Sequence[str]) -> dict[tuple[Any, ...], Object]:
    return {tuple(item.get(name) for name in names): item for item in items}


def _named(item: Object, names: Sequence[str]) -> dict[str, Any]:
    return {name: item[name] for name in names if name in item}
