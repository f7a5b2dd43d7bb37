"""The nodes of a YAML text with their offsets, for edits in place.

    >>> (node,) = nodes("a: {b: 1}").values()
    >>> node.entry("a").value.entry("b").value
    YamlNode(form='scalar', token=7, start=7, end=8, is_flow=False, entries=(), items=())

The text must have no problem that `parse.parse` finds. This module does not replace aliases; `parse.parse` replaces
each alias by a copy of the value at the anchor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

import yaml

from tfgen.problems import Position

_ANCHOR: Final = re.compile(r"&[-\w]+(?:\s+(?:#[^\n]*)?)*")
_BLANKS: Final = " \t\r\n"
"""The whitespace of YAML. The whitespace of Python contains other characters as well, such as U+3000."""


class Entry(NamedTuple):
    """A key of a mapping, with its value.

    Attributes:
        token: the offset of the anchor of the key; the offset of the key if it has no anchor.
        start: the offset of the key.
        end: the offset after the key.
    """

    key: str
    token: int
    start: int
    end: int
    value: YamlNode


class YamlNode(NamedTuple):
    """A value in a YAML text, with its offsets.

    Attributes:
        token: the offset of the value's anchor; the offset of the value if it has no anchor.
        start: the offset of the value after its anchor; for a block mapping, the offset of the first key.
        end: the offset after the value, without the last line end of a block.
        is_flow: whether the value is a mapping in braces, or a list in brackets.
        entries: the entries of a mapping, including the key `<<`, but without the entries that `<<` merges.
        items: the items of a list.
    """

    form: Literal["scalar", "alias", "mapping", "list"]
    token: int
    start: int
    end: int
    is_flow: bool = False
    entries: tuple[Entry, ...] = ()
    items: tuple[YamlNode, ...] = ()

    def entry(self, key: str) -> Entry | None:
        """Return the entry of a key; None if the text of the mapping does not contain the key.

        A key that `<<` merges is not in the text.
        """
        return next((entry for entry in self.entries if entry.key == key), None)


def nodes(text: str) -> dict[Position, YamlNode]:
    """Return the root node of each document of a text. The keys are the positions of the root nodes.

    `Document.root` has the same position.
    """
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
    """Return the offset after the block scalar that begins at `start`, without the last line end of the block.

    Empty lines after the block belong to the block only if the header of the block keeps these lines (`|+`).
    """
    block = text[start:end]
    header = block.partition("\n")[0]
    return start + len(block.removesuffix("\n") if "+" in header.partition("#")[0] else block.rstrip(_BLANKS))


def _behind_anchor(text: str, event: Any) -> int:
    start: int = event.start_mark.index
    anchor = _ANCHOR.match(text, start) if getattr(event, "anchor", None) else None
    return anchor.end() if anchor and not isinstance(event, yaml.AliasEvent) else start
