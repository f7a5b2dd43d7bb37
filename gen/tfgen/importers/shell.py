r"""Splitter of a shell script into statements, for scripts that set TF_CONFIG before they start the program.

>>> [statement.text for statement in statements("A=`cat f`; export B=1\npython x.py && echo done")]
['A=`cat f`', 'export B=1', 'python x.py', 'echo done']

The splitter recognizes the ends of statements, quotes, and blocks such as `if ... fi`. All other shell syntax stays
unchanged inside a statement.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_SHELLS: Final = re.compile(r"(/usr)?(/bin/)?(ba|da|a|z)?sh")
_SCRIPT_FLAG: Final = re.compile(r"-[a-z]*c")
_PLAIN: Final = re.compile(r"[^$`|&;<>(){}*?\[\]~#!\\\n]+")
"""Pattern of a command that does not need a shell. The command may contain quotes."""
_ASSIGNMENT: Final = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)
_OPENS: Final = re.compile(
    r"(?:(?:then|do|else)\s+)?(?:(?:if|for|while|until|case|select)\b|(?:function\s+)?[\w-]+\s*\(\)|\{\s)"
)
_CLOSES: Final = re.compile(r"(?:fi|done|esac)\b|\}")


class Statement(NamedTuple):
    """Statement of a script, and the separator after the statement: a newline, a semicolon, `&&`, or an empty text."""

    text: str
    end: str


def is_shell(words: list[str]) -> bool:
    """Return whether a command is a shell with a script: `sh -c SCRIPT`."""
    return len(words) > 1 and bool(_SHELLS.fullmatch(words[0]) and _SCRIPT_FLAG.fullmatch(words[1]))


def statements(script: str) -> list[Statement]:
    """Return the statements of a script. A block, such as an `if`, is one statement.

    A script with a here-document is also one statement, because a here-document may contain any character.
    """
    if "<<" in script:
        return [Statement(script.strip(), "")]
    return [Statement(text.strip(), end) for text, end in _with_blocks(_split(script)) if text.strip()]


def _with_blocks(pieces: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Join the pieces of each block, such as `if ... fi`, into one piece. Yield each piece with its separator."""
    block: list[str] = []
    depth = 0
    for text, end in pieces:
        stripped = text.strip()
        depth += bool(_OPENS.match(stripped)) - bool(_CLOSES.match(stripped))
        block.append(text)
        if depth > 0:
            block.append(end)
        else:
            yield "".join(block), end
            block, depth = [], 0
    if block:
        yield "".join(block), ""


def _split(script: str) -> Iterator[tuple[str, str]]:
    start = 0
    for position, character, depth in _bare_characters(script, "()", has_comments=True):
        if depth > 0 or position < start:
            continue
        if script.startswith("&&", position):
            yield script[start:position], " && "
            start = position + 2
        elif character in ";\n":
            yield script[start:position], character
            start = position + 1
    yield script[start:], ""


def _bare_characters(text: str, brackets: str, *, has_comments: bool = False) -> Iterator[tuple[int, str, int]]:
    """Yield each character outside of quotes as (position, character, number of open brackets).

    Skip escaped characters. With `has_comments`, skip comments as well. `brackets` contains the brackets to count, such
    as `(){}`.
    """
    quote, depth, position = "", 0, 0
    while position < len(text):
        character = text[position]
        if character == "\\" and quote != "'":
            position += 2
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"`":
            quote = character
        elif has_comments and character == "#" and not text[position - 1 : position].strip():
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
            continue
        else:
            depth += (character in brackets[::2]) - (character in brackets[1::2])
            yield position, character, depth
        position += 1


def assignment(statement: str) -> tuple[str, str] | None:
    """Return the variable and the value of an assignment such as `A=1` or `export A=1`; None for any other statement.

    The value has its quotes.
    """
    match = _ASSIGNMENT.fullmatch(statement)
    # In `A=1 python x.py` the assignment is for this command only, and does not set a variable of the script.
    if match is None or _has_second_word(match[2]):
        return None
    return match[1], match[2]


def _has_second_word(value: str) -> bool:
    bare = _bare_characters(value, "(){}")
    return any(character.isspace() and depth <= 0 and value[position:].strip() for position, character, depth in bare)


def joined(parts: list[Statement]) -> str:
    """Join statements and their separators into one script."""
    text = "".join(part.text + (part.end if number < len(parts) - 1 else "") for number, part in enumerate(parts))
    return re.sub(r";(?=\S)", "; ", text)


def words(script: str) -> list[str] | None:
    """Return the words of a script that is one plain command, or None for a script that needs a shell."""
    if not _PLAIN.fullmatch(script):
        return None
    try:
        split = shlex.split(script)
    except ValueError:
        return None
    return None if not split or "=" in split[0] or split[0] in ("cd", "export", "exec", "set", "source", ".") else split
