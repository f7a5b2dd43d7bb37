"""What changes one object into another, as a patch that a reviewer can read.

strategic_merge_patch({"spec": {"a": 1, "b": 2}}, {"spec": {"a": 1, "b": 3}})  ->  {"spec": {"b": 3}}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen.objects.pod_template import MERGE_KEYS

Object: TypeAlias = Mapping[str, Any]

# kustomize tells items apart by all of ``x-kubernetes-list-map-keys`` where a list has more than one.
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    **{field: (key,) for field, key in MERGE_KEYS.items()},
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}


def identity(item: Object) -> tuple[str, str, str]:
    """What tells one object from another within a namespace: API version, kind and name."""
    return item["apiVersion"], item["kind"], item["metadata"]["name"]


def merge_patch(before: Object, after: Object) -> dict[str, Any]:
    """A JSON merge patch (RFC 7386): null removes, lists are whole."""
    return _difference(before, after, by_key=False)


def strategic_merge_patch(before: Object, after: Object) -> dict[str, Any]:
    """A strategic merge patch: the lists of `_KEYS` item by item.

    kustomize puts the items that a patch names before those that it does not, so a patch of such a list names every
    item, in the order wanted: https://github.com/kubernetes-sigs/kustomize/issues/4045.
    """
    return _difference(before, after, by_key=True)


def _difference(before: Object, after: Object, *, by_key: bool) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for key in [*after, *(key for key in before if key not in after)]:
        if key not in after:
            patch[key] = None
        elif key not in before:
            patch[key] = after[key]
        elif before[key] != after[key]:
            patch[key] = _changed(key, before[key], after[key], by_key=by_key)
    return patch


def _changed(key: str, before: Any, after: Any, *, by_key: bool) -> Any:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return _difference(before, after, by_key=by_key)
    if by_key and key in _KEYS and isinstance(before, list) and isinstance(after, list):
        return _items(before, after, _KEYS[key])
    return after


def _items(before: Sequence[Object], after: Sequence[Object], names: Sequence[str]) -> list[dict[str, Any]]:
    old, new = _by_names(before, names), _by_names(after, names)
    patches = [
        {**_named(item, names), **_difference(old[key], item, by_key=True)} if key in old else dict(item)
        for key, item in new.items()
    ]
    return patches + [{"$patch": "delete", **_named(item, names)} for key, item in old.items() if key not in new]


def _by_names(items: Sequence[Object], names: Sequence[str]) -> dict[tuple[Any, ...], Object]:
    return {tuple(item.get(name) for name in names): item for item in items}


def _named(item: Object, names: Sequence[str]) -> dict[str, Any]:
    return {name: item[name] for name in names if name in item}
