"""What the tasks print, read from their log files as it comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tfgen.local.task import Task
from tfgen.record import Record

_MOST: Final = 1 << 20
"""Bytes of one task at a time, so that none keeps the others from being heard."""


class Line(Record):
    """A line that a task printed."""

    task: str
    text: str


class Output:
    """The tasks' log files. A task writes to its own by itself, so that nothing is lost with whoever reads it."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._read = {task.name: 0 for task in tasks}
        self._rest = {task.name: b"" for task in tasks}

    def add(self, task: Task, text: str) -> None:
        """Write a line of tfgen's own to a task's log."""
        with task.log.open("ab") as log:
            log.write(f"{text}\n".encode())

    def new_lines(self) -> Iterator[Line]:
        """The lines that have become whole."""
        for task in self._tasks:
            yield from self._lines(task)

    def last_lines(self) -> Iterator[Line]:
        """All that is left, the last line of each task also where it has no end."""
        for task in self._tasks:
            while True:
                before = self._read[task.name]
                yield from self._lines(task)
                if self._read[task.name] == before:
                    break
            if self._rest[task.name]:
                yield Line(task.name, self._rest.pop(task.name).decode(errors="replace"))

    def _lines(self, task: Task) -> Iterator[Line]:
        if not task.log.exists():
            return
        with task.log.open("rb") as log:
            log.seek(self._read[task.name])
            data = log.read(_MOST)
        self._read[task.name] += len(data)
        *lines, self._rest[task.name] = (self._rest[task.name] + data).split(b"\n")
        for line in lines:
            yield Line(task.name, line.rstrip(b"\r").decode(errors="replace"))
