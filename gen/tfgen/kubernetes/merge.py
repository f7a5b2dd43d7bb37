"""What Kubernetes' tools make of an object and a patch that is laid over it.

    merge({"spec": {"a": 1, "b": 2}}, {"spec": {"b": None}}, KUBECTL)  ->  {"spec": {"a": 1}}

Maps merge, and null removes. Which lists merge, and in which order, is the dialect's; any other list is replaced. An
item with ``$patch: delete`` goes, and after an item ``$patch: replace`` a list has the patch's other items alone. So it
is with a mapping that says ``$patch: replace``.
https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md

`pair` has the law by which items meet, for plain objects here and for those with holes in `graph.patches.merge`. In one
point it is not kubectl's, which makes one of two ports of one number: https://github.com/kubernetes/kubernetes/issues/39188.

Three merges are other things. `tunables.merge` is Helm's merge of values: it keeps a null over nothing. `job.defaults`
goes by the job's schema: the job's choice of one key drops the defaults of the others. `importers.train_job` merges
parts with their positions, and accounts for each that loses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.kubernetes.merge_keys import TOLD_APART, kustomize_keys, merge_keys
from tfgen.record import EMPTY, Record

REPLACE: Final[Mapping[str, Any]] = {"$patch": "replace"}
"""The directive that makes a patch's list or mapping take the place of the one that is there."""


class Dialect(Record):
    """How a tool merges lists.

    Attributes:
        keys: the lists that it merges, each with the fields that tell its items apart.
        puts_patch_first: whether the items that a patch names come before the others, in the patch's order.
    """

    keys: Mapping[str, Sequence[str]]
    puts_patch_first: bool = False


JSON_MERGE: Final = Dialect(EMPTY)
"""A JSON merge patch (RFC 7386), which any custom kind takes."""


def kubectl(kind: str) -> Dialect:
    """A strategic merge of an object of a kind, as the API server and kubectl do it."""
    return Dialect(merge_keys(kind))


KUBECTL: Final = kubectl("Pod")
"""That of pods."""


def kustomize(kind: str) -> Dialect:
    """A strategic merge of an object of a kind, as kustomize does it.

    https://github.com/kubernetes-sigs/kustomize/issues/4045. In a list of which several fields tell the items apart it
    puts only those first that it adds.
    """
    return Dialect(kustomize_keys(kind), puts_patch_first=True)


def merge(under: Any, patch: Mapping[str, Any], dialect: Dialect) -> dict[Any, Any]:
    """A mapping with a patch laid over it; neither is changed.

    Args:
        under: plain data, or a part of a graph. What is no mapping or list, such as a hole, is replaced whole.
        patch: plain data.
        dialect: how lists merge.
    """
    merged = dict(under) if isinstance(under, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and value.items() >= REPLACE.items():
            merged[key] = {field: inner for field, inner in value.items() if field not in REPLACE}
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
    there = under if isinstance(under, (list, tuple)) else ()
    kept = dict(enumerate(there))
    named: list[Any] = []
    for patch, places in zip(patches, pair(there, patches, field, dialect), strict=True):
        if removes(patch):
            for place in places:
                del kept[place]
        elif places and not (dialect.puts_patch_first and len(dialect.keys[field]) == 1):
            (place,) = places
            kept[place] = merge(kept[place], patch, dialect)
        else:
            named.append(merge(kept.pop(places[0]) if places else {}, patch, dialect))
    return [*named, *kept.values()] if dialect.puts_patch_first else [*kept.values(), *named]


def pair(
    there: Sequence[Any], patches: Sequence[Mapping[str, Any]], field: str, dialect: Dialect
) -> Sequence[Sequence[int]]:
    """Which items of a list the items of a patch meet: for each of the patch, places in the list.

    One that removes meets all of its key. Any other meets one at most, and is new where it meets none. No two meet the
    same, so the items of one patch never merge with each other. Where both the list and the patch have one item of a
    key, these two meet. Where either has several, an item meets the first that `TOLD_APART` does not tell from it.

    Args:
        there: plain data, or a part of a graph. What values alone make, such as an `Each`, has no key to be met by.
        patches: mappings.
        field: the list's.
        dialect: has the keys of the list's items.
    """
    keys = [_key(item, dialect.keys[field]) for item in there]
    own_keys = [_key(patch, dialect.keys[field]) for patch in patches]
    removed = [own for patch, own in zip(patches, own_keys, strict=True) if removes(patch)]
    free = [*range(len(keys))]
    pairs: list[Sequence[int]] = []
    for patch, own in zip(patches, own_keys, strict=True):
        met = [place for place in free if keys[place] == own]
        if met and not removes(patch):  # to count for each new item would take time by the square of them
            single = keys.count(own) == own_keys.count(own) == 1
            is_gone = own in removed
            met = [place for place in met if not is_gone and (single or _is_alike(there[place], patch, field))][:1]
        free = [place for place in free if place not in met]
        pairs.append(met)
    return pairs


def removes(patch: Mapping[str, Any]) -> bool:
    """Whether an item of a patch removes those of its key."""
    return patch.get("$patch") == "delete"


def _is_alike(item: Mapping[str, Any], patch: Mapping[str, Any], field: str) -> bool:
    """Whether a patch's item may mean this one of its key."""
    if field not in TOLD_APART:
        return True
    name, default = TOLD_APART[field]
    return patch.get(name) in (None, item.get(name, default))


def _key(item: Any, names: Sequence[str]) -> Any:
    """What tells an item from the others of its list; null for what is no mapping."""
    return tuple(item.get(name) for name in names) if isinstance(item, dict) else None
