"""Paths of the programs that tests/e2e/tools/build built at the pinned versions."""

from __future__ import annotations

from pathlib import Path

from tests.support.tools import CACHE


class MissingProgramError(FileNotFoundError):
    """A program is not built; fixtures make it a skip, which under CI is a failure (tests/e2e/conftest.py)."""


def program(name: str) -> Path:
    """The program of that name.

    Raises:
        MissingProgramError: Where it is not built.
    """
    path = CACHE / name
    if not path.exists():
        raise MissingProgramError(f"needs {name}, which `make servers` builds")
    return path
