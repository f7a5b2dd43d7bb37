"""The text of a task's log: its lines, which of them were read before, and what they tell of the training."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from tfgen.record import Record

_STEP: Final = re.compile(r"\b(?:global[ _])?step\b[ :=/]*(\d+)", re.IGNORECASE)
_TIME: Final = re.compile(r"(?P<whole>[\d-]{10}T[\d:]{8})(?:\.(?P<part>\d{1,9}))?(?P<zone>Z|[+-]\d\d:\d\d)")


def last_step(text: str) -> int | None:
    """The number of the last step that a log names: `step 600: ...`, `global_step = 600`; None where it names none."""
    steps = _STEP.findall(text)
    return int(steps[-1]) if steps else None


class LogLine(Record):
    """A line of a log, as the kubelet gives it with its time.

    Attributes:
        time: as it stands there.
        at: the same in whole seconds since 1970 and nanoseconds, which can be compared.
    """

    time: str
    at: tuple[int, int]
    text: str


def read_line(raw: str) -> LogLine:
    """A line that begins with its time: RFC 3339 with up to nine digits, of which the last zeros are left out."""
    time, _, text = raw.partition(" ")
    match = _TIME.fullmatch(time)
    if match is None:  # an error of the kubelet's own, in the midst of the log
        return LogLine("", (0, 0), raw)
    whole = datetime.fromisoformat(match["whole"] + match["zone"])
    return LogLine(time, (int(whole.timestamp()), int((match["part"] or "").ljust(9, "0"))), text)


class LogPosition:
    """How far a container's log has been read: a log that is asked for again begins with lines that were read before.

    Lines of one time are told apart by their number alone.
    """

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None
        self._lines_of_last = 0
        self._to_drop = 0
        self._is_again = False

    def ask(self) -> str:
        """When the log is asked for (again): the time that it is to begin at, in whole seconds; empty for all of it."""
        if self._last is None:
            return ""
        self._is_again, self._to_drop = True, self._lines_of_last
        return datetime.fromtimestamp(self._last[0], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def is_new(self, line: LogLine) -> bool:
        """Whether a line has not been read before; it is now."""
        if self._is_again and self._last is not None and line.time:
            if line.at < self._last:
                return False
            if line.at == self._last and self._to_drop:
                self._to_drop -= 1
                return False
            self._is_again = False
        if line.at == self._last:
            self._lines_of_last += 1
        elif line.time:
            self._last, self._lines_of_last = line.at, 1
        return True
