r"""Data as the one JSON text that Helm's `mustToRawJson` writes for the same data, so that both have one digest of it.

    >>> canonical({"b": [1, 0.50, None], "a": "é <&>"})
    '{"a":"é <&>","b":[1,0.5,null]}'

Go's encoding/json is followed: keys by their characters, no blank, no escape for what JSON lets stand but for U+2028
and U+2029, and every number as a float64, since that is what `fromYaml` reads it as
(https://pkg.go.dev/encoding/json#Marshal, https://masterminds.github.io/sprig/defaults.html).
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

_text: Final = json.encoder.encode_basestring

DIGEST_LENGTH: Final = 12
"""Hexadecimal digits of a digest: enough to tell the few forms of one thing apart, and short in a label."""

_WORDS: Final = {None: "null", True: "true", False: "false"}

_WHOLE: Final = 1 << 53
"""Up to this number, all whole numbers are float64s."""

_SMALLEST, _LARGEST = 1e-6, 1e21
"""Between these two Go writes a number without an exponent."""


def digest(data: Any) -> str:
    """The first digits of the SHA-256 of data."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()[:DIGEST_LENGTH]


def canonical(data: Any) -> str:
    """The text of a value.

    Raises:
        TypeError: for what JSON cannot say.
        ValueError: for an infinity or a NaN.
    """
    return _written(data).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _written(data: Any) -> str:
    if isinstance(data, str):
        return _text(data)
    if isinstance(data, dict):
        return "{" + ",".join([f"{_text(key)}:{_written(inner)}" for key, inner in sorted(data.items())]) + "}"
    if isinstance(data, (list, tuple)):
        return "[" + ",".join([_written(item) for item in data]) + "]"
    if data is None or isinstance(data, bool):
        return _WORDS[data]
    if isinstance(data, int) and abs(data) <= _WHOLE:
        return str(data)
    if isinstance(data, (int, float)):
        return _number(float(data))
    raise TypeError(f"JSON cannot say {data!r}")


def _number(number: float) -> str:
    """A float64: the shortest digits that are read as it, which Python has too, in Go's form."""
    text = json.dumps(number, allow_nan=False)
    if number == 0 or _SMALLEST <= abs(number) < _LARGEST:
        return (_without_exponent(text) if "e" in text else text).removesuffix(".0")
    return re.sub("(e[-+])0", r"\1", text)


def _without_exponent(number: str) -> str:
    from decimal import Decimal  # 2 ms, which only very small and very large numbers need pay

    return f"{Decimal(number):f}"
