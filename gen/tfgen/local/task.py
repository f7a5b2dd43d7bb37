"""The settings of a local process that runs a task, such as the command and the variables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tfgen.record import Record


class Task(Record):
    """The settings of the process that runs a task.

    Attributes:
        name: the role and the index of the task, such as `worker-1`.
        command: the program and its arguments.
        variables: all environment variables of the process.
        folder: the working directory.
        log: the log file for the output of the process.
        grace: the time in seconds from SIGTERM to SIGKILL.
        retries: the number of restarts that the task's controller allows; None for no limit.
        port: the port at which the task, or the coordinator of Keras, listens on this machine; 0 without a cluster.
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
    port: int = 0
