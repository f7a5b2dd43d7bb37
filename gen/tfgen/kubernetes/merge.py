"""The result of an object and a patch, as the tools of Kubernetes merge them.

    merge({"spec": {"a": 1, "b": 2}}, {"spec": {"b": None}}, KUBECTL)  ->  {"spec": {"a": 1}}

Maps merge, and null removes a key. The dialect decides which lists merge, and in which order; any other list is
replaced. An item with ``$patch: delete`` removes the item with its key. With an item ``$patch: replace``, the other
items of the patch replace the list. A mapping with ``$patch: replace`` replaces the mapping.
https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md

`pair` decides which items match, for plain objects here and for objects with holes in `graph.patches.merge`. `pair`
differs from kubectl in one case: kubectl merges two ports with one number
(https://github.com/kubernetes/kubernetes/issues/39188).

Three other merges have other rules. `tunables.merge` is Helm's merge of values: it keeps a null without a value below.
`job.defaults` follows the schema of jobs: a choice of one key in the job drops the defaults of the alternatives.
`importers.train_job` merges parts with their positions, and reports each part that loses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.kubernetes.merge_keys import TOLD_APART, kustomize_keys, merge_keys
from tfgen.record import EMPTY, Record

REPLACE: Final[Mapping[str, Any]] = {"$patch": "replace"}
"""The directive of a patch that replaces a list or a mapping."""


class Dialect(Record):
    """The rules by which a tool merges lists.

    Attributes:
        keys: the lists that the tool merges, each with the fields that identify its items.
        puts_patch_first: whether the items of a patch precede the remaining items, in the order of the patch.
    """

    keys: Mapping[str, Sequence[str]]
    puts_patch_first: bool = False


JSON_MERGE: Final = Dialect(EMPTY)
"""A JSON merge patch (RFC 7386), which every custom kind supports."""


def kubectl(kind: str) -> Dialect:
    """Return the strategic merge of the API server and kubectl for a kind."""
    return Dialect(merge_keys(kind))


KUBECTL: Final = kubectl("Pod")
"""The strategic merge of pods."""


def kustomize(kind: str) -> Dialect:
    """Return the strategic merge of kustomize for a kind.

    https://github.com/kubernetes-sigs/kustomize/issues/4045. In a list whose items have several key fields, only the
    items that kustomize adds come first.
    """
    return Dialect(kustomize_keys(kind), puts_patch_first=True)


def merge(under: Any, patch: Mapping[str, Any], dialect: Dialect) -> dict[Any, Any]:
    """Return a mapping with a patch merged over it. Both arguments remain unchanged.

    Args:
        under: plain data, or a part of a graph. A value that is not a mapping or a list, such as a hole, is replaced.
        patch: plain data.
        dialect: the rules for lists.
    """
    merged = dict(under) if isinstance(under, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and value.items() >= REPLACE.items():
            merged[key] = {field: item for field, item in value.items() if field not in REPLACE}
        elif isinstance(value, dict):
            merged[key] = merge(merged.get(key), value, dialect)
        elif isinstance(value, (list, tuple)) and REPLACE in value:
            merged[key] = [item for item in value if item != REPLACE]
        elif key in dialect.keys and isinstance(value, (list, tuple)):
            merged[key] = _merge_items(merged.get(key), value, key, dialect)
        else:
            merged[key] = value
    return merged


def _merge_items(under: Any, patches: Sequence[Mapping[str, Any]], field: str, dialect: Dialect) -> list[Any]:
    items = under if isinstance(under, (list, tuple)) else ()
    remaining = dict(enumerate(items))
    named: list[Any] = []
    for patch, places in zip(patches, pair(items, patches, field, dialect), strict=True):
        if removes(patch):
            for place in places:
                del remaining[place]
        elif places and not (dialect.puts_patch_first and len(dialect.keys[field]) == 1):
            (place,) = places
            remaining[place] = merge(remaining[place], patch, dialect)
        else:
            named.append(merge(remaining.pop(places[0]) if places else {}, patch, dialect))
    return [*named, *remaining.values()] if dialect.puts_patch_first else [*remaining.values(), *named]


def pair(
    items: Sequence[Any], patches: Sequence[Mapping[str, Any]], field: str, dialect: Dialect
) -> Sequence[Sequence[int]]:
    """Return the items of a list that each item of a patch matches, as indices of the list.

    A removal matches all items with its key. Any other item of the patch matches at most one item, and is new without a
    match. Two items of a patch never match the same item. If the list and the patch each have one item with a key, the
    two match. If either has several, an item matches the first item that `TOLD_APART` does not distinguish from it.

    Args:
        items: plain data, or a part of a graph. An item that depends on values, such as an `Each`, has no key.
        patches: mappings.
        field: the name of the list.
        dialect: the rules with the keys of the items.
    """
    keys = [_key(item, dialect.keys[field]) for item in items]
    own_keys = [_key(patch, dialect.keys[field]) for patch in patches]
    removed = [patch_key for patch, patch_key in zip(patches, own_keys, strict=True) if removes(patch)]
    free = [*range(len(keys))]
    pairs: list[Sequence[int]] = []
    for patch, patch_key in zip(patches, own_keys, strict=True):
        met = [place for place in free if keys[place] == patch_key]
        if met and not removes(patch):  # counting for every new item would take quadratic time
            single = keys.count(patch_key) == own_keys.count(patch_key) == 1
            is_gone = patch_key in removed
            met = [place for place in met if not is_gone and (single or _is_alike(items[place], patch, field))][:1]
        free = [place for place in free if place not in met]
        pairs.append(met)
    return pairs


def removes(patch: Mapping[str, Any]) -> bool:
    """Return whether an item of a patch removes the items with its key."""
    return patch.get("$patch") == "delete"


def _is_alike(item: Mapping[str, Any], patch: Mapping[str, Any], field: str) -> bool:
    """Return whether an item of a patch may match this item with the same key."""
    if field not in TOLD_APART:
        return True
    name, default = TOLD_APART[field]
    return patch.get(name) in (None, item.get(name, default))


def _key(item: Any, names: Sequence[str]) -> Any:
    """Return the key of an item in its list; null for a value that is not a mapping."""
    return tuple(item.get(name) for name in names) if isinstance(item, dict) else None
