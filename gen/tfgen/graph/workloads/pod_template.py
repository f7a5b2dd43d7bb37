"""``podTemplate``: a user's own PodTemplateSpec laid over ours, as kubectl's strategic merge does it.

Maps merge; the lists in `MERGE_KEYS` merge by their key, with ``$patch: delete`` for an item and null for a field;
every other list is replaced. https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfgen.graph.holes import Node
from tfgen.kubernetes.merge_keys import MERGE_KEYS


def merge(under: Node, over: Mapping[str, Any]) -> Node:
    """The graph with the user's map laid over it. Items that only values make (an `Each`) have no name to merge by.

    Example:
        >>> merge({"a": 1, "env": [{"name": "X", "value": "1"}]}, {"a": None, "env": [{"name": "X", "value": "2"}]})
        {'env': [{'name': 'X', 'value': '2'}]}
    """
    merged = dict(under) if isinstance(under, dict) else {}
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = merge(merged.get(key), value)
        elif key in MERGE_KEYS and isinstance(value, list | tuple):
            merged[key] = _merge_items(merged.get(key), value, MERGE_KEYS[key])
        else:
            merged[key] = value
    return merged


def _merge_items(under: Node, over: Sequence[Any], name: str) -> list[Node]:
    items: list[Node] = list(under) if isinstance(under, list | tuple) else []
    for item in over:
        places = [i for i, own in enumerate(items) if isinstance(own, dict) and own.get(name) == item.get(name)]
        if item.get("$patch") == "delete":
            items = [own for i, own in enumerate(items) if i not in places]
        elif places:
            items[places[0]] = merge(items[places[0]], item)
        else:
            items.append(merge({}, item))
    return items
