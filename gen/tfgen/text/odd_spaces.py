r"""Find unusual space characters. For example, a no-break space looks like a blank, but YAML reads it as text.

>>> find_odd_space("retries:\u00a03")
'the character U+00A0 (no-break space) is not a blank in YAML; write a blank'
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_ODD: Final = re.compile("[\u00a0\u1680\u2000-\u200b\u202f\u205f\u2060\u3000]")


def find_odd_space(text: str) -> str | None:
    """Return the message about the first unusual space character in a text; None if the text has no such character."""
    match = _ODD.search(text)
    if match is None:
        return None
    name = unicodedata.name(match[0]).lower()
    return f"the character U+{ord(match[0]):04X} ({name}) is not a blank in YAML; write a blank"


def odd_space_column(line: str) -> int:
    """Return the column of the first unusual space character in a line; 1 without such a character.

    The first column is 1.
    """
    match = _ODD.search(line)
    return match.start() + 1 if match else 1
