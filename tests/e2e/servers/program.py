"""Paths of the programs that tests/e2e/tools/build builds at the pinned versions."""

from __future__ import annotations

from pathlib import Path

from tests.support.tools import CACHE


class MissingRequirementError(Exception):
    """The machine lacks a requirement of a test: a program, the rights of root, or free disk space.

    A fixture then skips the test; under CI, the test fails.
    """


def program(name: str) -> Path:
    """Return the path of a program.

    Raises:
        MissingRequirementError: The program is not built.
    """
    path = CACHE / name
    if not path.exists():
        raise MissingRequirementError(f"needs {name}, which `make servers` builds")
    return path
