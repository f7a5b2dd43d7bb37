"""What the graphs of several structures have alike is one object, so that what follows from it is made once.

share(Value("image", "string")) is share(Value("image", "string"))

Most of a graph is as in another structure's: a hole keeps its filler and what it reads, a template its text.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Any, Final, TypeVar

from tfgen.graph.holes import child_nodes
from tfgen.record import Record

_Node = TypeVar("_Node")

MAX_CACHED: Final = 50_000
"""Objects that are kept; a structure has some thousands, most of them those of all others."""

MAX_TEXT: Final = 30_000
"""Characters of a text that is kept, and so of what it stands in; tfgen's own programs have fewer. A job's code may
have a million, and is no other job's."""

_kept: dict[Hashable, Any] = {}
"""By type and by the identities of all that it consists of, which are kept too, lest they become others'."""


def intern_node(node: _Node) -> _Node:
    """The node, or the one like it that was shared before: of the same types, and in the same order."""
    if len(_kept) > MAX_CACHED:
        _kept.clear()
    shared: _Node = _share(node, {})
    return shared


def _share(node: Any, met: dict[int, Any]) -> Any:
    kind = type(node)
    if kind is str:
        return node if len(node) > MAX_TEXT else _kept.setdefault(node, node)
    if id(node) in _kept or not _has_parts(node):
        return node
    if id(node) in met:
        return met[id(node)]
    own = child_nodes(node)
    parts = [_share(part, met) for part in own]
    key = (kind, *map(id, parts))
    shared = _kept.get(key)
    if shared is None:
        shared = node if all(map(operator.is_, own, parts)) else _of_parts(node, parts)
        if all(map(_may_be_kept, parts)):
            _kept[key] = _kept[id(shared)] = shared
    met[id(node)] = shared
    return shared


def _has_parts(node: Any) -> bool:
    return isinstance(node, Record) or type(node) in (dict, list, tuple)


def _may_be_kept(part: Any) -> bool:
    """Whether a part that was shared has no long text in it."""
    return len(part) <= MAX_TEXT if type(part) is str else id(part) in _kept or not _has_parts(part)


def _of_parts(node: Any, parts: list[Any]) -> Any:
    """The same with other parts."""
    if isinstance(node, Record):
        return type(node)(*parts)
    return dict(zip(parts[::2], parts[1::2], strict=True)) if isinstance(node, dict) else type(node)(parts)
