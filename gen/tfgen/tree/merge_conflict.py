r"""The markers that git writes into a file with a merge conflict.

has_conflict("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> theirs\n")   ->  True
conflict_sides("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> theirs\n") ->  ("a\nb\n", "a\nc\n")
"""

from __future__ import annotations

import re
from typing import Final

_CONFLICT: Final = re.compile(
    r"^<{7}(?: [^\n]*)?\n"
    r"(?P<ours>(?:(?![<|=>]{7})[^\n]*\n)*)"
    r"(?:\|{7}[^\n]*\n(?:(?!={7})[^\n]*\n)*)?"
    r"={7}\r?\n"
    r"(?P<theirs>(?:(?!>{7})[^\n]*\n)*)"
    r">{7}(?: [^\n]*)?(?:\n|\Z)",
    re.MULTILINE,
)
"""A conflict in the styles `merge`, `diff3` and `zdiff3` of git."""


def has_conflict(text: str) -> bool:
    """Return whether a text has a merge conflict."""
    return "<<<<<<<" in text and _CONFLICT.search(text) is not None


def conflict_sides(text: str) -> tuple[str, str]:
    """Return a text with the lines of our side in place of each conflict, and with the lines of their side."""
    return _CONFLICT.sub(r"\g<ours>", text), _CONFLICT.sub(r"\g<theirs>", text)
