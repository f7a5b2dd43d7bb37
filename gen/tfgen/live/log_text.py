"""Parses the log of a task: timestamps of lines, the position from which to read next, and the training step."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from tfgen.record import Record

_TIME: Final = re.compile(r"(?P<whole>[\d-]{10}T[\d:]{8})(?:\.(?P<part>\d{1,9}))?(?P<zone>Z|[+-]\d\d:\d\d)")


class LogLine(Record):
    """A line of a log with the kubelet's timestamp.

    Attributes:
        time: timestamp as text, unchanged; empty if the line has no timestamp.
        at: timestamp in whole seconds since 1970, and the remaining nanoseconds, for comparisons.
        text: line without the timestamp.
    """

    time: str
    at: tuple[int, int]
    text: str


def read_line(raw: str) -> LogLine:
    """Parse a line of a log that begins with a timestamp such as `2026-01-31T12:00:00.5Z`."""
    time, _, text = raw.partition(" ")
    match = _TIME.fullmatch(time)
    if match is None:  # the kubelet writes its errors into the log without a time
        return LogLine("", (0, 0), raw)
    whole = datetime.fromisoformat(match["whole"] + match["zone"])
    return LogLine(time, (int(whole.timestamp()), int((match["part"] or "").ljust(9, "0"))), text)


class LogPosition:
    """The position up to which tfgen has read a container's log. After a new request, tfgen skips the earlier lines.

    The position consists of the timestamp of the last line, and the number of lines with this timestamp so far.
    """

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None
        self._lines_of_last = 0
        self._to_drop = 0
        self._is_repeated = False

    def begin(self) -> str:
        """Prepare a new request. Return the value of the query parameter `sinceTime`; empty to read the whole log."""
        if self._last is None:
            return ""
        self._is_repeated, self._to_drop = True, self._lines_of_last
        return datetime.fromtimestamp(self._last[0], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def advance(self, line: LogLine) -> bool:
        """Move the position past a line. Return False for a line that an earlier request has already read."""
        if self._is_repeated and self._last is not None and line.time:
            if line.at < self._last:
                return False
            if line.at == self._last and self._to_drop:
                self._to_drop -= 1
                return False
            self._is_repeated = False
        if line.at == self._last:
            self._lines_of_last += 1
        elif line.time:
            self._last, self._lines_of_last = line.at, 1
        return True
