"""Result of a rule: a mistake in a job."""

from __future__ import annotations

from typing import NamedTuple

from tfgen.data_path import Path


class Finding(NamedTuple):
    """A mistake in a job.

    Attributes:
        path: the path of the mistake, among the paths of `View`.
        message: the value that was found, the allowed values, and the correction.
        cause: a text that identifies the mistake in all variants of a job, for messages that differ between variants,
            for example in a number. If empty, the message identifies the mistake.
    """

    path: Path
    message: str
    cause: str = ""
