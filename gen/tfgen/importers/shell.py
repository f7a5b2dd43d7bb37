r"""A shell script as statements, for those that make TF_CONFIG of host files before the program starts.

    statements("A=`cat f`; export B=1\npython x.py && echo done")
        ->  ("A=`cat f`", ";"), ("export B=1", "\n"), ("python x.py && echo done", "")

It splits what stands between ends of statements, and reads no more of the language: what it does not know stays as it
is, within its statement.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_SHELLS: Final = re.compile(r"(/usr)?(/bin/)?(ba|da|a|z)?sh")
_SCRIPT_FLAG: Final = re.compile(r"-[a-z]*c")
_PLAIN: Final = re.compile(r"[^$`|&;<>(){}*?\[\]~#!\\\n]+")
"""A command without anything that a shell would do with it, quotes apart."""
_ASSIGNMENT: Final = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)
_OPENS: Final = re.compile(
    r"(?:(?:then|do|else)\s+)?(?:(?:if|for|while|until|case|select)\b|(?:function\s+)?[\w-]+\s*\(\)|\{\s)"
)
_CLOSES: Final = re.compile(r"(?:fi|done|esac)\b|\}")


class Statement(NamedTuple):
    """A statement, and what ends it: a newline, a semicolon, `&&`, or nothing."""

    text: str
    end: str


def is_shell(words: list[str]) -> bool:
    """Whether a command is a shell with a script: `sh -c SCRIPT`."""
    return len(words) > 1 and bool(_SHELLS.fullmatch(words[0]) and _SCRIPT_FLAG.fullmatch(words[1]))


def statements(script: str) -> list[Statement]:
    """The statements of a script. A block, such as an `if`, is one statement; so is a script with a here-document."""
    if "<<" in script:
        return [Statement(script.strip(), "")]
    return [Statement(text.strip(), end) for text, end in _with_blocks(_split(script)) if text.strip()]


def _with_blocks(pieces: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The pieces of a script, with those of each block as one."""
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
    start, quote, depth, position = 0, "", 0, 0
    while position < len(script):
        character = script[position]
        if character == "\\" and quote != "'":
            position += 2
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"`":
            quote = character
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        elif character == "#" and not script[position - 1 : position].strip():
            position = _end_of_line(script, position)
            continue
        elif script.startswith("&&", position) and depth <= 0:
            yield script[start:position], " && "
            position = start = position + 2
            continue
        elif character in ";\n" and depth <= 0:
            yield script[start:position], character
            start = position + 1
        position += 1
    yield script[start:], ""


def _end_of_line(script: str, position: int) -> int:
    end = script.find("\n", position)
    return len(script) if end < 0 else end


def assignment(statement: str) -> tuple[str, str] | None:
    """The variable that a statement sets, exported or not, and the value as it is written."""
    match = _ASSIGNMENT.fullmatch(statement)
    # A command may stand behind an assignment, for which alone that holds.
    if match is None or _has_word_behind(match[2]):
        return None
    return match[1], match[2]


def _has_word_behind(value: str) -> bool:
    quote, depth = "", 0
    position = 0
    while position < len(value):
        character = value[position]
        if character == "\\" and quote != "'":
            position += 2
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"`":
            quote = character
        elif character in "({":
            depth += 1
        elif character in ")}":
            depth -= 1
        elif character.isspace() and depth <= 0 and value[position:].strip():
            return True
        position += 1
    return False


def joined(parts: list[Statement]) -> str:
    """The statements as a script again."""
    text = "".join(part.text + (part.end if number < len(parts) - 1 else "") for number, part in enumerate(parts))
    return re.sub(r";(?=\S)", "; ", text)


def words(script: str) -> list[str] | None:
    """The words of a script that is one plain command; None of one that needs a shell."""
    if not _PLAIN.fullmatch(script):
        return None
    try:
        split = shlex.split(script)
    except ValueError:
        return None
    return None if not split or "=" in split[0] or split[0] in ("cd", "export", "exec", "set", "source", ".") else split
