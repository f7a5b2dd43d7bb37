r"""Long lines of a template, broken where Go's templates allow it: at the blanks inside their actions.

    >>> print(wrap('{{- fail (printf "the name %v has %d characters" $name (len $name)) }}', width=50))
    {{- fail
        (printf "the name %v has %d characters"
        $name (len $name)) }}

What is printed stays the same: a blank inside an action counts for nothing, and since Go 1.16 a line break neither
(https://go.dev/doc/go1.16#text/template). A long text in quotes becomes several, joined by `print`. What stands outside
of actions is printed as it is, so that no line is broken there.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tfgen.record import Record

WIDTH: Final = 140
_USUAL: Final = 1_000
"""Characters of a line whose form is kept, so that a job's long texts are not in memory."""
_INDENT: Final = "    "
_LITERAL_MAX: Final = 90
_ACTION: Final = re.compile(r'(\{\{-? (?:"(?:[^"\\]|\\.)*"|`[^`]*`|[^"`])*?\}\})')
_HEADS: Final = frozenset(
    ("{{", "{{-", "if", "with", "and", "or", "not", "|", ":=", "=", "include", "printf", "fail", "(print")
)
"""Words with which no line of an action ends: what follows belongs to them."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|[()]| +|[^"`() ]+')


class _Token(Record):
    """A word of a line, and how deep in the brackets of an action it stands; None outside of actions.

    Attributes:
        joins: whether it is the blank between two pieces of one text, which are one again where no line ends there.
    """

    text: str
    depth: int | None = None
    joins: bool = False

    @property
    def is_blank(self) -> bool:
        """Whether the line may be broken here."""
        return self.depth is not None and self.text.isspace()


def wrap(text: str, width: int = WIDTH) -> str:
    """The text with each line that is longer than the width broken, as far as it has actions to break."""
    return "\n".join(line if len(line) <= width else _broken(line, width) for line in text.split("\n"))


def _broken(line: str, width: int) -> str:
    """A line that is too long, as several lines. Only those of a usual line are kept: a longer one has a job's text."""
    return _usual_broken(line, width) if len(line) <= _USUAL else "\n".join(_lines(line, width))


@functools.lru_cache(1 << 10)  # the charts of many jobs have the same long lines
def _usual_broken(line: str, width: int) -> str:
    return "\n".join(_lines(line, width))


def _lines(line: str, width: int) -> Iterator[str]:
    indent = " " * (len(line) - len(line.lstrip(" "))) + _INDENT
    tokens = [token for part in _ACTION.split(line) for token in _tokens(part)]
    head = ""
    while len(head) + sum(len(token.text) for token in tokens) > width:
        at = _best_break(tokens, width - len(head))
        if at is None:
            break
        yield head + _text(tokens[:at])
        head, tokens = indent, tokens[at + 1 :]
    yield head + _text(tokens)


def _text(tokens: Iterable[_Token]) -> str:
    """The tokens of a line."""
    out = ""
    joined = False
    for token in tokens:
        if token.joins and out.endswith('"'):
            out, joined = out.removesuffix('"'), True
        else:
            out += token.text.removeprefix('"') if joined else token.text
            joined = False
    return out


def _best_break(tokens: Sequence[_Token], room: int) -> int | None:
    """The blank to break at: of those that leave a line in the room, the last of the least deep; else the first."""
    best: tuple[int, int] | None = None
    length = 0
    for index, token in enumerate(tokens):
        if token.is_blank and token.depth is not None and _may_be_broken(tokens, index):
            if length > room:
                return best[1] if best else index
            if length > room // 3 and (best is None or token.depth <= best[0]):
                best = token.depth, index
        length += len(token.text)
    return best[1] if best else None


def _may_be_broken(tokens: Sequence[_Token], blank: int) -> bool:
    """Whether a line may end before a blank: not between a word and what belongs to it, nor before a closing brace."""
    if not 0 < blank < len(tokens) - 1:
        return False
    return tokens[blank - 1].text not in _HEADS and tokens[blank + 1].text not in ("}}", "-}}")


def _tokens(part: str) -> Iterator[_Token]:
    """The words of a line's part: an action, or what stands between two."""
    if not _ACTION.fullmatch(part) or part.startswith(("{{/*", "{{- /*")):
        yield _Token(part)
        return
    depth = 0
    for word in _TOKEN.findall(part):
        depth -= word == ")"
        if word[0] == '"' and len(word) > _LITERAL_MAX:
            yield from _several(word, depth + 1)
        else:
            yield _Token(word, depth)
        depth += word == "("


def _several(literal: str, depth: int) -> Iterator[_Token]:
    """A long text as several shorter ones."""
    pieces = [""]
    for word in re.split("(?<= )", literal[1:-1]):
        if len(pieces[-1]) + len(word) > _LITERAL_MAX:
            pieces.append("")
        pieces[-1] += word
    yield _Token("(print", depth)
    for piece in pieces:
        yield _Token(" ", depth, joins=piece is not pieces[0])
        yield _Token(f'"{piece}"', depth)
    yield _Token(")", depth)
