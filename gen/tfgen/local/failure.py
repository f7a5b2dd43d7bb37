"""Intentional failures of tasks, such as `worker=1@30s`, to test that the training program recovers."""

from __future__ import annotations

import re
from typing import Final

from tfgen.record import Record

_FAILURE: Final = re.compile(r"(?P<role>[a-z]+)(?:=(?P<index>[0-9]{1,5}))?@(?P<seconds>[0-9]{1,6}(?:\.[0-9]+)?)s?")


class Failure(Record):
    """The task to kill, and the time of the kill in seconds after the start of the run."""

    task: str
    seconds: float


def read_failure(text: str) -> Failure:
    """Parse an intentional failure, the value of `--fail`.

    >>> read_failure("worker=1@30s"), read_failure("chief@2.5s")
    (Failure(task='worker-1', seconds=30.0), Failure(task='chief-0', seconds=2.5))

    Raises:
        ValueError: the text has a different format.
    """
    match = _FAILURE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a task and a time; write for example worker=1@30s")
    return Failure(f"{match['role']}-{match['index'] or 0}", float(match["seconds"]))
