"""The nodes of a YAML text, and the offsets at which they stand in it: what an edit in place needs.

    >>> (node,) = nodes("a: {b: 1}").values()
    >>> node.entry("a").value.entry("b").value
    YamlNode(form='scalar', token=7, start=7, end=8, is_flow=False, entries=(), items=())

The text is one that `parse.parse` finds nothing wrong with. Unlike there, an alias is no copy of what it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

import yaml

from tfgen.problems import Position

_ANCHOR: Final = re.compile(r"&[-\w]+(?:\s+(?:#[^\n]*)?)*")
_BLANKS: Final = " \t\r\n"
"""What a line has that is empty to YAML; to Python, so has a line of U+3000."""


class Entry(NamedTuple):
    """A key of a mapping, and its value. The key stands from `start` to `end`; its anchor, if any, is at `token`."""

    key: str
    token: int
    start: int
    end: int
    value: YamlNode


class YamlNode(NamedTuple):
    """A value.

    Attributes:
        token: where it begins with its anchor, if it has one.
        start: where it begins, behind its anchor: a mapping in block style at its first key.
        end: where it ends: the last line end of a block belongs to it no more.
        is_flow: whether it is a mapping in braces, or a list in brackets.
        entries: those of a mapping that it says itself, `<<` among them.
        items: those of a list.
    """

    form: Literal["scalar", "alias", "mapping", "list"]
    token: int
    start: int
    end: int
    is_flow: bool = False
    entries: tuple[Entry, ...] = ()
    items: tuple[YamlNode, ...] = ()

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
    token, end = event.start_mark.index, event.end_mark.index
    start = _behind_anchor(text, event)
    if isinstance(event, yaml.AliasEvent):
        return YamlNode("alias", token, token, end)
    if isinstance(event, yaml.ScalarEvent):
        return YamlNode("scalar", token, start, _end_of_block(text, start, end) if event.style in ("|", ">") else end)
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not isinstance(following := next(events), yaml.SequenceEndEvent):
            items.append(_node(text, events, following))
        last = items[-1].end if items and not event.flow_style else _end(following)
        return YamlNode("list", token, start, last, bool(event.flow_style), items=tuple(items))
    entries = []
    while not isinstance(following := next(events), yaml.MappingEndEvent):
        key = _node(text, events, following)
        value = _node(text, events, next(events))
        entries.append(Entry(getattr(following, "value", ""), key.token, key.start, key.end, value))
    last = entries[-1].value.end if entries and not event.flow_style else _end(following)
    return YamlNode(
        "mapping", token, end - 1 if event.flow_style else end, last, bool(event.flow_style), tuple(entries)
    )


def _end(event: Any) -> int:
    end: int = event.end_mark.index
    return end


def _end_of_block(text: str, start: int, end: int) -> int:
    """Where block text ends, before the last line end of it: empty lines below are its own only where it keeps them."""
    block = text[start:end]
    header = block.partition("\n")[0]
    return start + len(block.removesuffix("\n") if "+" in header.partition("#")[0] else block.rstrip(_BLANKS))


def _behind_anchor(text: str, event: Any) -> int:
    start: int = event.start_mark.index
    anchor = _ANCHOR.match(text, start) if getattr(event, "anchor", None) else None
    return anchor.end() if anchor and not isinstance(event, yaml.AliasEvent) else start
