"""Detection of the program's file in a command such as `python -u /opt/train.py --steps=5`.

>>> find_program_file(["python", "-u", "/opt/train.py", "--steps=5"]), find_program_file(["python", "-m", "train"])
('/opt/train.py', '')
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

_INTERPRETER: Final = ("python", "bash", "sh")
_NO_FILE: Final = ("-c", "-m")
"""Options with which an interpreter runs code or a module instead of a file."""
_WITH_VALUE: Final = ("-W", "-X")


def find_program_file(words: Sequence[str]) -> str:
    """Return the file that an interpreter runs, or the path of an executable; empty if the command contains neither."""
    first, *following = words
    if not PurePosixPath(first).name.startswith(_INTERPRETER):
        return first if "/" in first else ""
    texts = iter(following)
    for text in texts:
        if text in _NO_FILE:
            return ""
        if text in _WITH_VALUE:
            next(texts, None)
        elif not text.startswith("-"):
            return text
    return ""
