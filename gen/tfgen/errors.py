"""The base class of all errors that tfgen raises on purpose.

    raise TfgenError("charts/dist-mnist/Chart.yaml: No space left on device")

The user sees only the message. Only `cli` catches these errors, prints the message and exits.
"""

from __future__ import annotations

from typing import ClassVar


class TfgenError(Exception):
    """Error that stops a command, with a message for the user."""

    exit_code: ClassVar[int] = 3
    """Exit code for an error in tfgen, on the disk, or in a tool that tfgen calls."""


class UsageError(TfgenError):
    """Error in the command line, such as a file that does not exist."""

    exit_code = 2


class MissingPackageError(TfgenError):
    """Error for a missing package that the command needs."""

    def __init__(self, problem: str, *packages: str) -> None:
        """Create a message such as `the Kubernetes client is not installed: pip install kubernetes`.

        Args:
            problem: the first part of the message, such as `the Kubernetes client is not installed`.
            packages: the names of the packages on the Python package index.
        """
        super().__init__(f"{problem}: pip install {' '.join(packages)}")
