"""Interning of nodes: equal nodes of several object graphs become a single Python object.

Most nodes of a graph also occur in the graphs of other jobs. A node caches the function that fills the node, and
the values paths that the node reads. A template caches its text. Interned nodes share these caches.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Any, Final, TypeVar

from tfgen.graph.holes import child_nodes
from tfgen.record import Record

_Node = TypeVar("_Node")

MAX_CACHED: Final = 50_000
"""Maximum number of interned nodes. A graph has some thousands of nodes, most of which also occur in other graphs."""

MAX_TEXT: Final = 30_000
"""Maximum number of characters of a text in an interned node.

All programs of tfgen are shorter. The code of a job may have a million characters, and belongs to a single job."""

_interned: dict[Hashable, Any] = {}
"""The interned nodes, by their type and the `id()` of their children.

The dictionary also keeps the children, because Python would reuse the `id()` of a deleted child."""


def intern_node(node: _Node) -> _Node:
    """Return the shared copy of a node. Nodes share a copy if their values, types and orders of keys are equal."""
    if len(_interned) > MAX_CACHED:
        _interned.clear()
    interned: _Node = _intern(node, {})
    return interned


def _intern(node: Any, visited: dict[int, Any]) -> Any:
    kind = type(node)
    if kind is str:
        return node if len(node) > MAX_TEXT else _interned.setdefault(node, node)
    if id(node) in _interned or not _has_children(node):
        return node
    if id(node) in visited:
        return visited[id(node)]
    children = child_nodes(node)
    interned_children = [_intern(child, visited) for child in children]
    key = (kind, *map(id, interned_children))
    interned = _interned.get(key)
    if interned is None:
        is_unchanged = all(map(operator.is_, children, interned_children))
        interned = node if is_unchanged else _with_children(node, interned_children)
        if all(map(_may_be_interned, interned_children)):
            _interned[key] = _interned[id(interned)] = interned
    visited[id(node)] = interned
    return interned


def _has_children(node: Any) -> bool:
    return isinstance(node, Record) or type(node) in (dict, list, tuple)


def _may_be_interned(node: Any) -> bool:
    """Return whether each text in a node has at most `MAX_TEXT` characters."""
    return len(node) <= MAX_TEXT if type(node) is str else id(node) in _interned or not _has_children(node)


def _with_children(node: Any, children: list[Any]) -> Any:
    """Return a copy of a node with new children."""
    if isinstance(node, Record):
        return type(node)(*children)
    return dict(zip(children[::2], children[1::2], strict=True)) if isinstance(node, dict) else type(node)(children)
