"""The comments of a YAML text, and of those the ones that speak to tfgen.

    image: tf:latest  # tfgen: ignore latest-tag a moving base      ->  Directive((1, 20), 1, "ignore latest-tag ...")

A `#` within a key or a value begins no comment. A directive is about its own line. Where it stands alone, it is about
the next line that says something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tfgen.problems import Position
from tfgen.text.yaml_node import YamlNode, nodes

COMMENT: Final = re.compile(r"(?<![^\s])#[^\n]*")
HEADER: Final = re.compile(r"(?P<header>[|>][-+0-9]*)(?P<note>[ \t]+#.*)?[ \t]*")
"""The first line of block text, which a comment may end."""

_DIRECTIVE: Final = re.compile(r"#+[ \t]*tfgen:[ \t]*(?P<words>.*)")


class Directive(NamedTuple):
    """A comment that speaks to tfgen.

    Attributes:
        position: where it begins.
        line: which it is about.
        words: what stands behind `tfgen:`.
    """

    position: Position
    line: int
    words: str


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Each comment, in order, with the offset at which it begins.

    Args:
        text: one that `parse.parse` finds nothing wrong with.
    """
    behind = 0
    for start, end in sorted(leaf for root in nodes(text).values() for leaf in leaves(root)):
        yield from _between(text, behind, start)
        header = HEADER.match(text, start, end)
        if header and header["note"]:
            yield header.end("note") - len(header["note"].lstrip()), header["note"].lstrip()
        behind = end
    yield from _between(text, behind, len(text))


def directives(text: str) -> Iterator[Directive]:
    """The comments that speak to tfgen.

    Args:
        text: one that `parse.parse` finds nothing wrong with.
    """
    if not _DIRECTIVE.search(text):
        return
    lines = text.split("\n")
    for offset, comment in comments(text):
        if match := _DIRECTIVE.fullmatch(comment):
            before = text[:offset]
            line, column = before.count("\n") + 1, offset - before.rfind("\n")
            is_alone = not lines[line - 1][: column - 1].strip()
            yield Directive(Position(line, column), _next_line(lines, line) if is_alone else line, match["words"])


def leaves(node: YamlNode) -> Iterator[tuple[int, int]]:
    """Where keys, scalars and aliases stand: a # in them begins no comment."""
    if node.form in ("scalar", "alias"):
        yield node.start, node.end
    for entry in node.entries:
        yield entry.start, entry.end
        yield from leaves(entry.value)
    for item in node.items:
        yield from leaves(item)


def _between(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    return ((match.start(), match[0]) for match in COMMENT.finditer(text, start, end))


def _next_line(lines: list[str], line: int) -> int:
    """The first line behind another that says something; that other itself where none does."""
    following = enumerate(lines[line:], start=line + 1)
    return next((number for number, text in following if text.strip() and not text.lstrip().startswith("#")), line)
