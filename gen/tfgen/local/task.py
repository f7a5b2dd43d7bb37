"""A task as a local process: what it runs, with which variables, where."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tfgen.record import Record


class Task(Record):
    """One task.

    Attributes:
        name: its role and index, such as `worker-1`.
        command: the program and its arguments.
        variables: all of its environment.
        folder: where it starts.
        log: the file that its output goes to.
        grace: seconds that it has to end once it is told to.
        retries: how often its controller would start it again; None for always.
        after: what is run once it has ended, however it did; nothing where empty.
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
