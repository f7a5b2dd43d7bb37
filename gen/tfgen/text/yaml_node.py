"""The nodes of a YAML text, and the offsets at which they stand in it: what an edit in place needs.

    >>> (node,) = nodes("a: {b: 1}").values()
    >>> node.entry("a").value.entry("b")
    Entry(key='b', token=4, start=4, value=YamlNode(form='scalar', start=7, end=8, is_flow=False, entries=()))

The text is one that `document.parse` finds nothing wrong with. Unlike there, an alias is no copy of what it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

import yaml

from tfgen.problems import Position

_ANCHOR: Final = re.compile(r"&[-\w]+(?:\s+(?:#[^\n]*)?)*")


class Entry(NamedTuple):
    """A key of a mapping, and its value. The key begins at `start`, its anchor, if it has one, at `token`."""

    key: str
    token: int
    start: int
    value: YamlNode


class YamlNode(NamedTuple):
    """A value.

    Attributes:
        start: where it begins, behind its anchor: a mapping in block style at its first key.
        end: where a scalar or an alias ends.
        is_flow: whether it is a mapping in braces.
        entries: those of a mapping that it says itself, `<<` among them.
    """

    form: Literal["scalar", "alias", "mapping", "list"]
    start: int
    end: int
    is_flow: bool = False
    entries: tuple[Entry, ...] = ()

    def entry(self, key: str) -> Entry | None:
        """The entry of that key, if the mapping says it itself."""
        return next((entry for entry in self.entries if entry.key == key), None)


def nodes(text: str) -> dict[Position, YamlNode]:
    """The root of each document, by where `Document.root` says that it stands."""
    events: Iterator[Any] = yaml.parse(text, Loader=yaml.CSafeLoader)
    roots = {}
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            root = next(events)
            roots[Position(root.start_mark.line + 1, root.start_mark.column + 1)] = _node(text, events, root)
    return roots


def _node(text: str, events: Iterator[Any], event: Any) -> YamlNode:
    start, end = event.start_mark.index, event.end_mark.index
    if isinstance(event, yaml.AliasEvent):
        return YamlNode("alias", start, end)
    if isinstance(event, yaml.ScalarEvent):
        return YamlNode("scalar", _behind_anchor(text, event), end)
    if isinstance(event, yaml.SequenceStartEvent):
        for item in _until(events, yaml.SequenceEndEvent):
            _node(text, events, item)
        return YamlNode("list", start, end)
    entries = []
    for key in _until(events, yaml.MappingEndEvent):
        _node(text, events, key)
        value = _node(text, events, next(events))
        entries.append(Entry(getattr(key, "value", ""), key.start_mark.index, _behind_anchor(text, key), value))
    return YamlNode("mapping", end - 1 if event.flow_style else end, end, bool(event.flow_style), tuple(entries))


def _until(events: Iterator[Any], end: type[yaml.Event]) -> Iterator[Any]:
    for event in events:
        if isinstance(event, end):
            return
        yield event


def _behind_anchor(text: str, event: Any) -> int:
    start: int = event.start_mark.index
    anchor = _ANCHOR.match(text, start) if getattr(event, "anchor", None) else None
    return anchor.end() if anchor and not isinstance(event, yaml.AliasEvent) else start
