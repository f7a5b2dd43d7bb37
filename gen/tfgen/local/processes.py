"""The processes of the tasks. A separate program, the supervisor, starts and ends the processes.

    with Processes(root) as processes:
        processes.start(task)
        for ended in processes.poll(0.1): ...

All processes of the tasks end when the `with` block ends, or when the process of tfgen ends for any reason.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tfgen.errors import TfgenError
from tfgen.local.task import Task
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


CANNOT_START: Final = 127
"""The exit code of a shell for a command that cannot be started."""


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
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._supervisor.stdin  # noqa: S101 - for the type
        assert self._supervisor.stdout  # noqa: S101 - for the type
        self._supervisor.stdin.close()
        self._supervisor.wait()
        self._supervisor.stdout.close()

    def start(self, task: Task) -> None:
        """Start a task. A task that has ended can be started again."""
        self._command(
            {
                "start": task.name,
                "command": task.command,
                "variables": dict(task.variables),
                "folder": str(task.folder),
                "log": str(task.log),
            }
        )

    def send(self, task: str, number: signal.Signals) -> None:
        """Send a signal to the first process of a task. SIGKILL goes to all processes of the task."""
        self._command({"signal": task, "number": number})

    def poll(self, seconds: float) -> Iterator[Ended]:
        """Yield the tasks that have ended since the last call. Wait at most `seconds` for the first task.

        Raises:
            TfgenError: the supervisor has ended.
        """
        assert self._supervisor.stdout  # noqa: S101 - for the type
        stream = self._supervisor.stdout.fileno()
        while select.select([stream], [], [], seconds)[0]:
            data = os.read(stream, 1 << 16)
            if not data:
                raise self._is_gone()
            *lines, self._tail = (self._tail + data).split(b"\n")
            for event in map(json.loads, lines):
                if "error" in event:
                    yield Ended(event["task"], CANNOT_START, event["error"])
                elif "code" in event:
                    yield Ended(event["task"], event["code"])
            seconds = 0

    def _command(self, command: dict[str, Any]) -> None:
        assert self._supervisor.stdin  # noqa: S101 - for the type
        try:
            self._supervisor.stdin.write(json.dumps(command).encode() + b"\n")
            self._supervisor.stdin.flush()
        except BrokenPipeError as error:
            raise self._is_gone() from error

    def _is_gone(self) -> TfgenError:
        return TfgenError(
            f"the process that supervises the tasks has ended, and so have all tasks; see {self._log} for the reason"
        )
