"""The processes of the tasks. A separate program, the supervisor, starts and ends the processes.

    with Processes(root) as processes:
        processes.start(task)
        for ended in processes.poll(0.1): ...

All processes of the tasks end when the `with` block ends, or when the process of tfgen ends for any reason.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from tfgen.errors import TfgenError
from tfgen.record import Record

_PROGRAM: Final = Path(__file__).with_name("supervisor.py")

CAN_END_ALL: Final = sys.platform == "linux"
"""True if tfgen can end every process of a task on this system, even a process that leaves the task's process group."""


class Ended(Record):
    """The end of a task.

    The fields are the exit code as in `subprocess`, and the error of a task that could not start.
    """

    task: str
    code: int
    error: str = ""


class Processes:
    """The processes of the tasks. The context manager starts the supervisor, and ends all remaining processes."""

    def __init__(self, root: Path) -> None:
        """Set the folder `root`, in which the supervisor writes its log."""
        self._log = root / "supervisor.log"
        self._tail = b""

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._supervisor = subprocess.Popen(  # noqa: S603 - our own program
                (sys.executable, "-I", "-S", _PROGRAM),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C in a terminal must reach only tfgen
            )
        assert self._supervisor.stdin and self._supervisor.stdout  # noqa: S101, PT018 - for the type
        self._commands, self._events = self._supervisor.stdin, self._supervisor.stdout
        return self

    def __exit__(self, *_error: object) -> None:
        self._commands.close()
        self._supervisor.wait()
        self._events.close()

    def start(self, task: Task) -> None:
        """Start a task. A task that has ended can be started again."""
        files = {"folder": str(task.folder), "log": str(task.log)}
        self._command({"start": task.name, "command": task.command, "variables": dict(task.variables), **files})

    def send(self, task: str, number: signal.Signals) -> None:
        """Send a signal to the first process of a task. SIGKILL goes to all processes of the task."""
        self._command({"signal": task, "number": number})

    def poll(self, seconds: float) -> Iterator[Ended]:
        """Yield the tasks that have ended since the last call. Wait at most `seconds` for the first task.

        Raises:
            TfgenError: the supervisor has ended.
        """
        while select.select([self._events], [], [], seconds)[0]:
            data = os.read(self._events.fileno(), 1 << 16)
            if not data:
                raise self._is_gone()
            *lines, self._tail = (self._tail + data).split(b"\n")
            for event in map(json.loads, lines):
                if "error" in event:
                    yield Ended(event["task"], 127, event["error"])  # the exit code of a shell for such a command
                elif "code" in event:
                    yield Ended(event["task"], event["code"])
            seconds = 0

    def _command(self, command: dict[str, Any]) -> None:
        try:
            self._commands.write(json.dumps(command).encode() + b"\n")
            self._commands.flush()
        except BrokenPipeError as error:
            raise self._is_gone() from error

    def _is_gone(self) -> TfgenError:
        return TfgenError(
            f"the process that supervises the tasks has ended, and so have all tasks; see {self._log} for the reason"
        )


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
