"""The comments of a YAML text. A comment that begins with `tfgen:` is a directive, an instruction to tfgen.

    image: tf:latest  # tfgen: ignore latest-tag a moving base

A `#` within a key or a value does not begin a comment. A directive after a value applies to the line of the
value. A directive on a separate line applies to the next line with content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tfgen.problems import Position
from tfgen.text.yaml_node import YamlNode, nodes

COMMENT: Final = re.compile(r"(?<![^\s])#[^\n]*")
HEADER: Final = re.compile(r"(?P<header>[|>][-+0-9]*)(?P<note>[ \t]+#.*)?[ \t]*")
"""Pattern of the header of a block scalar, such as `|-`. A comment may follow on the line of the header."""

_DIRECTIVE: Final = re.compile(r"#+[ \t]*tfgen:[ \t]*(?P<words>.*)")


class Directive(NamedTuple):
    """A comment that gives an instruction to tfgen, such as `# tfgen: ignore latest-tag`.

    Attributes:
        position: the start of the comment.
        line: the line to which the directive applies.
        words: the text after `tfgen:`.
    """

    position: Position
    line: int
    words: str


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and the text of each comment, in order.

    Args:
        text: a text in which `parse.parse` finds no problem.
    """
    end_of_last = 0
    for start, end in sorted(leaf for root in nodes(text).values() for leaf in leaves(root)):
        yield from _between(text, end_of_last, start)
        header = HEADER.match(text, start, end)
        if header and header["note"]:
            yield header.end("note") - len(header["note"].lstrip()), header["note"].lstrip()
        end_of_last = end
    yield from _between(text, end_of_last, len(text))


def directives(text: str) -> Iterator[Directive]:
    """Yield the directives of a text.

    Args:
        text: a text in which `parse.parse` finds no problem.
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
    """Yield the start offset and the end offset of each key, scalar and alias in a node.

    A `#` between the two offsets does not begin a comment.
    """
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
    """Return the number of the next line with content after a line; the number of this line if no content follows."""
    following = enumerate(lines[line:], start=line + 1)
    return next((number for number, text in following if text.strip() and not text.lstrip().startswith("#")), line)
