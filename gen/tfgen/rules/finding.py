"""A mistake that a rule finds in a job."""

from __future__ import annotations

from typing import NamedTuple

from tfgen.data_path import Path


class Finding(NamedTuple):
    """A mistake in a job.

    Attributes:
        path: the path of the mistake, among the paths of `View`.
        message: the value that was found, the allowed values, and the correction.
        cause: the text that is equal for all variants of a job whose messages differ, as in a number; empty for the
            message.
    """

    path: Path
    message: str
    cause: str = ""
