r"""Unusual space characters, which look like a blank and which YAML reads as text.

>>> find_odd_space("retries:\u00a03")
'the character U+00A0 (no-break space) is not a blank in YAML; write a blank'
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_ODD: Final = re.compile("[\u00a0\u1680\u2000-\u200b\u202f\u205f\u2060\u3000]")


def find_odd_space(text: str) -> str | None:
    """Return the message about the first odd space of a text; None for a text without such a space."""
    match = _ODD.search(text)
    if match is None:
        return None
    name = unicodedata.name(match[0]).lower()
    return f"the character U+{ord(match[0]):04X} ({name}) is not a blank in YAML; write a blank"


def odd_space_column(line: str) -> int:
    """Return the column of the first odd space of a line, from 1; 1 for a line without such a space."""
    match = _ODD.search(line)
    return match.start() + 1 if match else 1
