"""The conflict markers that git writes into a file: ``<<<<<<<``, ``=======`` and ``>>>>>>>``."""

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
"""Pattern of a merge conflict in all styles of git's `merge.conflictStyle`: `merge`, `diff3` and `zdiff3`."""


def has_conflict(text: str) -> bool:
    """Return whether a text has the conflict markers of a git merge."""
    return "<<<<<<<" in text and _CONFLICT.search(text) is not None


def conflict_sides(text: str) -> tuple[str, str]:
    """Return both versions of a text with conflict markers: of the current branch, and of the merged branch."""
    return _CONFLICT.sub(r"\g<ours>", text), _CONFLICT.sub(r"\g<theirs>", text)
