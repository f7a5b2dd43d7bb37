"""Reads the output of the running tasks from their log files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tfgen.local.task import Task
from tfgen.record import Record

_MOST: Final = 1 << 20
"""Maximum number of bytes that tfgen reads from one log before tfgen reads the next log."""


class Line(Record):
    """A line of output, and the name of the task that printed the line."""

    task: str
    text: str


class Output:
    """The log files of the tasks.

    Each task writes directly to its log file, so that no output is lost if tfgen ends first.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._read = {task.name: 0 for task in tasks}
        self._tail = {task.name: b"" for task in tasks}

    def add(self, task: Task, text: str) -> None:
        """Write a message of tfgen to the log of a task."""
        with task.log.open("ab") as log:
            log.write(f"{text}\n".encode())

    def new_lines(self) -> Iterator[Line]:
        """Yield the complete lines that the tasks have printed since the last call."""
        for task in self._tasks:
            yield from self._lines(task)

    def last_lines(self) -> Iterator[Line]:
        """Yield all remaining lines, even a last line without a line break."""
        for task in self._tasks:
            while True:
                before = self._read[task.name]
                yield from self._lines(task)
                if self._read[task.name] == before:
                    break
            if self._tail[task.name]:
                yield Line(task.name, self._tail.pop(task.name).decode(errors="replace"))

    def _lines(self, task: Task) -> Iterator[Line]:
        if not task.log.exists():
            return
        with task.log.open("rb") as log:
            log.seek(self._read[task.name])
            data = log.read(_MOST)
        self._read[task.name] += len(data)
        *lines, self._tail[task.name] = (self._tail[task.name] + data).split(b"\n")
        for line in lines:
            yield Line(task.name, line.rstrip(b"\r").decode(errors="replace"))
