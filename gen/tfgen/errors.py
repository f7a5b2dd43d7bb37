"""The one base of every error that tfgen raises on purpose.

    raise TfgenError("charts/dist-mnist/Chart.yaml: No space left on device")

The message is for a human and is all that they see; `cli` alone catches the class, prints and exits.
"""

from __future__ import annotations

from typing import ClassVar


class TfgenError(Exception):
    """Something that tfgen cannot go on with, said in words for its user."""

    exit_code: ClassVar[int] = 3
    """An error of tfgen's own, of the disk, or of a tool that it calls."""


class UsageError(TfgenError):
    """The command line asks for something that is not there, or cannot be."""

    exit_code = 2


class MissingPackageError(TfgenError):
    """A package that the command needs is not installed."""

    def __init__(self, use: str, *packages: str) -> None:
        """Args: `use` names the use of the packages; `packages` are names on the Python package index."""
        super().__init__(f"{use}: pip install {' '.join(packages)}")
