r"""The commands of a shell script, word by word, each with its place.

    commands("# train\narena submit tfjob \\\n  --name='a b' $X", "submit.sh")
        ->  ((Word("arena", 2:1), Word("submit", 2:7), ..., Word("--name=a b", 3:3), Word("$X", 3:16, expands=True)),)

It reads words, quotes, comments and the ends of commands, and no more of the language. What the shell would put in the
place of a word is not known here; such a word is marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tfgen.problems import Position

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
    """A word of a command.

    Attributes:
        text: without its quotes.
        position: where it begins.
        expands: whether the shell puts something in the place of a part of it.
    """

    text: str
    position: Position
    expands: bool = False


def shell_value_message(word: Word) -> str:
    """What is said of a word that the shell would make another one of."""
    return f"found {word.text}, whose value the shell knows that runs the command; write the value"


def commands(script: str) -> Iterator[Sequence[Word]]:
    """The commands of a script that have a word, without the prompts that documents show before them."""
    for words in _commands(script):
        shown = words[1:] if words[0].text == "$" else words
        if shown:
            yield shown


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
    # A quote that nothing closes is a character like any other.
    return (Word(text, position, expands), end) if end > place else (Word(script[place], position), place + 1)
