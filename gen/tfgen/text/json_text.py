"""Data as JSON text for people: what fits into a line stands in one.

    >>> print(dump({"type": "string", "examples": ["2", "lr-3e-4"]}), end="")
    {"type": "string", "examples": ["2", "lr-3e-4"]}

`json.dumps(indent=2)` gives each number of a list a line of its own.
"""

from __future__ import annotations

import json
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
        opening, closing = "{", "}"
    else:
        parts = [_text(value, inner, left) for value in data]
        opening, closing = "[", "]"
    if sum(map(len, parts)) + 2 * len(parts) <= room and not any("\n" in part for part in parts):
        return f"{opening}{', '.join(parts)}{closing}"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{closing}"
