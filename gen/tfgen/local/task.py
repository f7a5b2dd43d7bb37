"""A task as a local process: its command, its variables and its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tfgen.record import Record


class Task(Record):
    """The process to start for a task.

    Attributes:
        name: the role and the index, such as `worker-1`.
        command: the program and its arguments.
        variables: the complete environment.
        folder: the working directory.
        log: the log file for its output.
        grace: the time in seconds from SIGTERM to SIGKILL.
        retries: the number of restarts by its controller; None for no limit.
        after: a command that runs after the end of the task; empty for no command.
    """

    name: str
    role: str
    index: int
    command: tuple[str, ...]
    variables: Mapping[str, str]
    folder: Path
    log: Path
    grace: int
    retries: int | None = None
    after: tuple[str, ...] = ()
