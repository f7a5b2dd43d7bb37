"""Data as JSON text for people: what fits into a line stands in one, and a named object has lines of its own.

    >>> print(dump({"type": "string", "examples": ["2", "lr-3e-4"]}), end="")
    {"type": "string", "examples": ["2", "lr-3e-4"]}

`json.dumps(indent=2)` gives each number of a list a line of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

WIDTH: Final = 120
_scalar: Final = json.JSONEncoder(ensure_ascii=False).encode
_string: Final = json.encoder.encode_basestring


def dump(data: Any) -> str:
    """One value, with a final newline; keys in the given order. Raises TypeError for what JSON cannot say."""
    return _text(data, "", WIDTH) + "\n"


def _text(data: Any, indent: str, room: int) -> str:
    """The text of a value; `room` is how many characters the line that it begins on has left for it."""
    if isinstance(data, str):
        return _string(data)
    if not data or not isinstance(data, dict | list):
        return _scalar(data)
    inner = f"{indent}  "
    left = WIDTH - len(inner) - 1  # for the comma
    if isinstance(data, dict):
        heads = [f"{_string(key)}: " for key in data]
        parts = [head + _text(value, inner, left - len(head)) for head, value in zip(heads, data.values(), strict=True)]
        alone = [isinstance(value, dict) for value in data.values()]
        opening, closing = "{", "}"
    else:
        parts = [_text(value, inner, left) for value in data]
        alone = [False] * len(data)
        opening, closing = "[", "]"
    if sum(map(len, parts)) + 2 * len(parts) <= room and not any("\n" in part for part in parts):
        return f"{opening}{', '.join(parts)}{closing}"
    return f"{opening}\n{inner}" + f",\n{inner}".join(_lines(parts, alone, left)) + f"\n{indent}{closing}"


def _lines(parts: Sequence[str], alone: Sequence[bool], room: int) -> Iterator[str]:
    """The parts, as many in a line as fit; what is alone, or has several lines itself, shares none."""
    line = ""
    for part, is_alone in zip(parts, alone, strict=True):
        is_alone = is_alone or "\n" in part
        if line and (is_alone or len(line) + 2 + len(part) > room):
            yield line
            line = ""
        if is_alone:
            yield part
        else:
            line = f"{line}, {part}" if line else part
    if line:
        yield line
