"""What Kubernetes' tools make of an object and a patch that is laid over it.

    merge({"spec": {"a": 1, "b": 2}}, {"spec": {"b": None}}, KUBECTL)  ->  {"spec": {"a": 1}}

Maps merge, and null removes. Which lists merge, and in which order, is the dialect's; any other list is replaced. An
item with ``$patch: delete`` goes, and after an item ``$patch: replace`` a list has the patch's other items alone. So it
is with a mapping that says ``$patch: replace``.
https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md

Three merges are other things. `tunables.merge` is Helm's merge of values: it keeps a null over nothing. `job.defaults`
goes by the job's schema: the job's choice of one key drops the defaults of the others. `importers.train_job` merges
parts with their positions, and accounts for each that loses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.kubernetes.merge_keys import kustomize_keys, merge_keys
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
            merged[key] = _merge_items(merged.get(key), value, dialect.keys[key], dialect)
        else:
            merged[key] = value
    return merged


def _merge_items(under: Any, patches: Sequence[Mapping[str, Any]], names: Sequence[str], dialect: Dialect) -> list[Any]:
    """Items of a graph that only values make, such as those of an `Each`, have no name to merge by.

    Where no item is, the patch's are not merged with each other: two ports of one number stay two.
    """
    items: list[Any] = list(under) if isinstance(under, (list, tuple)) else []
    if not items:
        return [merge({}, patch, dialect) for patch in patches if patch.get("$patch") != "delete"]
    first: list[Any] = []
    for patch in patches:
        key = _key(patch, names)
        places = [place for place, item in enumerate(items) if _key(item, names) == key]
        if patch.get("$patch") == "delete":
            items = [item for place, item in enumerate(items) if place not in places]
            continue
        if places:
            items[places[0]] = merge(items[places[0]], patch, dialect)
        else:
            items.append(merge({}, patch, dialect))
        if len(names) == 1 or not places:
            first.append(key)
    if not dialect.puts_patch_first:
        return items
    return sorted(items, key=lambda item: first.index(key) if (key := _key(item, names)) in first else len(first))


def _key(item: Any, names: Sequence[str]) -> Any:
    """What tells an item from the others of its list; null for what is no mapping."""
    return tuple(item.get(name) for name in names) if isinstance(item, dict) else None
