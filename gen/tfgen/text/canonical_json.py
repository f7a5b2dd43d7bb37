r"""Canonical JSON text of data: equal data always has the same text, so that tfgen and Helm compute the same digest.

    >>> canonical({"b": [1, 0.50, None], "a": "é <&>"})
    '{"a":"é <&>","b":[1,0.5,null]}'

The text is equal to the text of Helm's `mustToRawJson`, which follows Go's encoding/json. The keys are sorted by
characters, the text has no blanks, and few characters are escaped: U+2028, U+2029 and the characters that JSON requires
to be escaped. Every number is a float64, because `fromYaml` reads numbers as float64
(https://pkg.go.dev/encoding/json#Marshal, https://masterminds.github.io/sprig/defaults.html).
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

_text: Final = json.encoder.encode_basestring

DIGEST_LENGTH: Final = 12
"""Number of hexadecimal digits of a digest.

Twelve digits are enough, because a digest distinguishes only the versions of a single object. A short digest keeps
labels short.
"""

_WORDS: Final = {None: "null", True: "true", False: "false"}

_WHOLE: Final = 1 << 53
"""Largest number up to which a float64 represents each whole number exactly."""

_SMALLEST, _LARGEST = 1e-6, 1e21
"""The smallest and the largest number that Go writes without an exponent."""


def digest(data: Any) -> str:
    """Return the first `DIGEST_LENGTH` digits of the SHA-256 of the data's canonical JSON text."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()[:DIGEST_LENGTH]


def have_equal_text(before: Any, after: Any) -> bool:
    """Test whether two values have the same JSON text. `True == 1` is true in Python, and 1 and 1.0 are equal.

    >>> have_equal_text([1], [True]), have_equal_text(1, 1.0), have_equal_text({"a": 1, "b": 2}, {"b": 2, "a": 1})
    (False, False, True)
    """
    return bool(before == after) and json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)


def canonical(data: Any) -> str:
    """Return the canonical JSON text of a value.

    Raises:
        TypeError: JSON cannot represent the value.
        ValueError: the value is infinite or NaN.
    """
    return _written(data).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _written(data: Any) -> str:
    if isinstance(data, str):
        return _text(data)
    if isinstance(data, dict):
        return "{" + ",".join([f"{_text(key)}:{_written(item)}" for key, item in sorted(data.items())]) + "}"
    if isinstance(data, (list, tuple)):
        return "[" + ",".join([_written(item) for item in data]) + "]"
    if data is None or isinstance(data, bool):
        return _WORDS[data]
    if isinstance(data, int) and abs(data) <= _WHOLE:
        return str(data)
    if isinstance(data, (int, float)):
        return _number(float(data))
    raise TypeError(f"JSON cannot represent {data!r}")


def _number(number: float) -> str:
    """Return the text of a float64 as Go writes it: the shortest text that a parser reads as the same number."""
    text = json.dumps(number, allow_nan=False)
    if number == 0 or _SMALLEST <= abs(number) < _LARGEST:
        return (_without_exponent(text) if "e" in text else text).removesuffix(".0")
    return re.sub("(e[-+])0", r"\1", text)


def _without_exponent(number: str) -> str:
    from decimal import Decimal  # the import takes 2 ms; only very small and very large numbers need it

    return f"{Decimal(number):f}"
