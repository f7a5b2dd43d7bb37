r"""Wraps long template lines at the blanks inside the actions of Go templates.

    >>> print(wrap('{{- fail (printf "the name %v has %d characters" $name (len $name)) }}', width=50))
    {{- fail
        (printf "the name %v has %d characters"
        $name (len $name)) }}

The output of the template stays the same, because Go ignores blanks inside an action, and since Go 1.16 also line
breaks (https://go.dev/doc/go1.16#text/template). A long quoted text becomes several texts, which `print` joins. Text
outside of actions is printed with its line breaks, so the wrapper adds no line break to this text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tfgen.record import Record

WIDTH: Final = 140
_LONGEST_CACHED: Final = 1_000
"""Maximum length of a line in the cache. A longer line contains texts of a job, and would use much memory."""
_INDENT: Final = "    "
_LITERAL_MAX: Final = 90
_ACTION: Final = re.compile(r'(\{\{-? (?:"(?:[^"\\]|\\.)*"|`[^`]*`|[^"`])*?\}\})')
_HEADS: Final = frozenset(
    ("{{", "{{-", "if", "with", "and", "or", "not", "|", ":=", "=", "include", "printf", "fail", "(print")
)
"""Words that stay on a line with the next word, such as `if`."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|[()]| +|[^"`() ]+')


class _Token(Record):
    """A word of a template line. In an action, blanks and brackets are words as well.

    Attributes:
        text: the text of the word.
        depth: the number of open brackets around the word in an action; None for a word outside of actions.
        joins: whether the word is the blank between two pieces of a long text that tfgen has split. If the line does
            not break at this blank, tfgen joins the two pieces again.
    """

    text: str
    depth: int | None = None
    joins: bool = False

    @property
    def is_blank(self) -> bool:
        """True for a blank inside an action, at which a line may end."""
        return self.depth is not None and self.text.isspace()


def wrap(text: str, width: int = WIDTH) -> str:
    """Wrap the lines of a text to a maximum width. A long line without an action stays unchanged."""
    return "\n".join(line if len(line) <= width else _broken(line, width) for line in text.split("\n"))


def _broken(line: str, width: int) -> str:
    """Split a long line into several lines."""
    return _cached_broken(line, width) if len(line) <= _LONGEST_CACHED else "\n".join(_lines(line, width))


@functools.lru_cache(1 << 10)  # the charts of many jobs have the same long lines
def _cached_broken(line: str, width: int) -> str:
    return "\n".join(_lines(line, width))


def _lines(line: str, width: int) -> Iterator[str]:
    indent = " " * (len(line) - len(line.lstrip(" "))) + _INDENT
    tokens = [token for part in _ACTION.split(line) for token in _tokens(part)]
    head = ""
    while len(head) + sum(len(token.text) for token in tokens) > width:
        index = _best_break(tokens, width - len(head))
        if index is None:
            break
        yield head + _text(tokens[:index])
        head, tokens = indent, tokens[index + 1 :]
    yield head + _text(tokens)


def _text(tokens: Iterable[_Token]) -> str:
    """Join the tokens of a line into one text."""
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
    """Return the index of the blank at which to break a line.

    A suitable blank is within the width, but not in the first third of the width. The best blank is inside the fewest
    brackets. If several blanks are the best, the last has precedence. Without a suitable blank, the function returns
    the first blank after the width. If the line also has no blank after the width, the function returns None.
    """
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
    """Test whether a line may end at the token with the index `blank`.

    A line may not end after a word of `_HEADS`, such as `if`, or before the closing braces of an action.
    """
    if not 0 < blank < len(tokens) - 1:
        return False
    return tokens[blank - 1].text not in _HEADS and tokens[blank + 1].text not in ("}}", "-}}")


def _tokens(part: str) -> Iterator[_Token]:
    """Split an action into words. A comment is a single word, and so is a text outside of actions."""
    if not _ACTION.fullmatch(part) or part.startswith(("{{/*", "{{- /*")):
        yield _Token(part)
        return
    depth = 0
    for word in _TOKEN.findall(part):
        depth -= word == ")"
        if word[0] == '"' and len(word) > _LITERAL_MAX:
            yield from _split_literal(word, depth + 1)
        else:
            yield _Token(word, depth)
        depth += word == "("


def _split_literal(literal: str, depth: int) -> Iterator[_Token]:
    """Split a long quoted text into pieces, and yield the words of a `print` call that joins the pieces."""
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
