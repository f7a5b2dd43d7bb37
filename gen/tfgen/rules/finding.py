"""The result of a rule, which is a mistake in a job."""

from __future__ import annotations

from typing import NamedTuple

from tfgen.data_path import Path


class Finding(NamedTuple):
    """A mistake in a job.

    Attributes:
        path: the path of the mistake in the values of the chart, as in `View`.
        message: the value in the job, the allowed values, and the correction.
        cause: a text that is equal for the same mistake in all variants of a job. A rule sets the cause if the messages
            of the variants differ, for example in a number. If the cause is empty, the message identifies the mistake.
    """

    path: Path
    message: str
    cause: str = ""
