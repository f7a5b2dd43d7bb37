r"""Splitter of a shell script into commands and words, with the position of each word.

>>> (words,) = commands("# train\narena submit --name='a b' $X")
>>> [(word.text, word.position.column, word.expands) for word in words]
[('arena', 1, False), ('submit', 7, False), ('--name=a b', 14, False), ('$X', 27, True)]

The splitter recognizes words, quotes, comments and the ends of commands, and ignores all other syntax of the shell. The
splitter does not expand variables: `Word.expands` marks a word that the shell would expand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tfgen.errors import Position

_SPACE: Final = re.compile(r"(?:[ \t\r]|\\\r?\n)+|#[^\n]*")
_END: Final = re.compile(r"\n|;|&&|\|\|?|&")
_PIECE: Final = re.compile(
    r"""'(?P<single>[^']*)'
      | "(?P<double>(?:[^"\\]|\\.)*)"
      | \\(?P<escaped>.)
      | (?P<plain>[^\s'"\\;&|]+)""",
    re.VERBOSE | re.DOTALL,
)
_EXPANDS: Final = re.compile(r"(?<!\\)(?:\$[\w({]|`)")


class Word(NamedTuple):
    """Word of a command line.

    Attributes:
        text: the word without its quotes.
        position: the position of the first character.
        expands: whether the word contains a variable or a command that the shell would expand.
    """

    text: str
    position: Position
    expands: bool = False


def shell_value_message(word: Word) -> str:
    """Return the error message about a word that contains a shell variable or a command substitution."""
    return f"found {word.text}, which only a shell can expand; replace the variable or command by its value"


def commands(script: str) -> Iterator[Sequence[Word]]:
    """Yield the words of each command of a script. Omit the prompt `$`, which documentation prints before a command."""
    for words in _commands(script):
        command = words[1:] if words[0].text == "$" else words
        if command:
            yield command


def _commands(script: str) -> Iterator[Sequence[Word]]:
    words: list[Word] = []
    place, line, start = 0, 1, 0
    while place < len(script):
        match = _SPACE.match(script, place) or _END.match(script, place)
        if match is None:
            word, end = _word(script, place, Position(line, place - start + 1))
            words.append(word)
        else:
            end = match.end()
            if _END.fullmatch(match[0]):
                if words:
                    yield words
                words = []
        newlines = script.count("\n", place, end)
        if newlines:
            line, start = line + newlines, script.rindex("\n", place, end) + 1
        place = end
    if words:
        yield words


def _word(script: str, place: int, position: Position) -> tuple[Word, int]:
    text, expands = "", False
    end = place
    while match := _PIECE.match(script, end):
        piece = match[match.lastgroup or 0]
        if match.lastgroup in ("double", "plain"):
            expands = expands or bool(_EXPANDS.search(piece))
        if match.lastgroup == "double":
            piece = re.sub(r'\\(["\\$`])', r"\1", piece.replace("\\\n", ""))
        text += piece
        end = match.end()
    # A quote without a closing quote is an ordinary character.
    return (Word(text, position, expands), end) if end > place else (Word(script[place], position), place + 1)
