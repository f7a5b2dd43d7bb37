"""Runs the tasks of a job on this machine: starts, restarts and ends the tasks, and yields their output.

    with Processes(root) as processes:
        run = Run(tasks, Ending("Chief"), processes, time.monotonic)
        for line in run.lines(): print(line.task, line.text)
    run.code

When the task that completes the job ends, tfgen ends the other tasks. When a task fails and has no retries left, the
run ends, so that the user sees a mistake at once.
"""

from __future__ import annotations

import json
import math
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from tfgen.errors import TfgenError
from tfgen.local.variables import listening_ports
from tfgen.record import Record
from tfgen.schema.kinds import CompletionBy
from tfgen.words import either

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
    """The processes of the tasks. A separate program, the supervisor, starts and ends the processes.

    The context manager starts the supervisor. All processes of the tasks end when the `with` block ends, or when the
    process of tfgen ends for any reason.
    """

    def __init__(self, root: Path) -> None:
        """Set the folder `root`, in which the supervisor writes its log."""
        self._log = root / "supervisor.log"
        self._tail = b""

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._supervisor = subprocess.Popen(  # noqa: S603 - our own program
                (sys.executable, "-I", "-S", Path(__file__).with_name("supervisor.py")),
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


class OutputLine(Record):
    """A line of output, and the name of the task that printed the line."""

    task: str
    text: str


# -- the run -----------------------------------------------------------------------------------------------------------


_FIRST_PAUSE: Final = 1.0
"""Pause in seconds before a failed task starts again. The pause doubles with each retry, up to ten seconds."""


class Ending(Record):
    """The conditions under which a run ends.

    Attributes:
        by: the tasks whose success completes the job: the chief, worker 0, or all workers.
        grace: the time in seconds for which the evaluator continues after the job has ended.
        retries: the maximum number of restarts of a failed task; None for the number that the task's controller allows.
        failures: the intentional failures. Each task that tfgen kills intentionally starts again.
        ignored_codes: exit codes after which a task starts again without using a retry.
        restarts_successful: whether the controller in a cluster also starts a task again after the exit code 0.
    """

    by: CompletionBy
    grace: float = 0
    retries: int | None = 0
    failures: tuple[Failure, ...] = ()
    ignored_codes: tuple[int, ...] = ()
    restarts_successful: bool = False


class State:
    """The state of one task.

    Attributes:
        code: the exit code as in shells, such as 137 after SIGKILL; None for a task that has not ended.
        starts: the number of times that the task was started.
        start_at: the time of the next start; None if no start is planned.
        kill_at: the time at which tfgen sends SIGKILL after a SIGTERM; None if tfgen has not sent SIGTERM.
        has_listened: whether a process has listened at the port of the task.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.code: int | None = None
        self.starts = 0
        self.retried = 0
        self.is_running = False
        self.start_at: float | None = None
        self.kill_at: float | None = None
        self.is_to_fail = False
        self.has_listened = False
        self._position, self._tail = 0, b""

    def print(self, text: str) -> None:
        """Write a message of tfgen to the log of the task."""
        with self.task.log.open("ab") as log:
            log.write(f"tfgen: {text}\n".encode())

    def lines(self, *, is_last: bool = False) -> Iterator[OutputLine]:
        """Yield the complete lines that the task has printed since the last call.

        The task writes directly to its log file, so that no output is lost if tfgen ends first. With `is_last`, yield
        all remaining lines, even a last line without a line break. Otherwise, read at most 1 MiB.
        """
        while self.task.log.exists():
            with self.task.log.open("rb") as log:
                log.seek(self._position)
                data = log.read(1 << 20)
            self._position += len(data)
            *lines, self._tail = (self._tail + data).split(b"\n")
            for line in lines:
                yield OutputLine(self.task.name, line.rstrip(b"\r").decode(errors="replace"))
            if not (is_last and data):
                break
        if is_last and self._tail:
            yield OutputLine(self.task.name, self._tail.decode(errors="replace"))


class Run:
    """A run of a job on this machine. The caller reads all items of `lines()`, and then the exit code in `code`.

    The values of `states`, `code` and `reason` are final after the last item of `lines()`.

    Attributes:
        states: the state of each task, by name of the task.
    """

    def __init__(self, tasks: Sequence[Task], ending: Ending, processes: Processes, clock: Callable[[], float]) -> None:
        self.states = {task.name: State(task) for task in tasks}
        self.code: int | None = None
        """The exit code of the job; None before the end of the job."""
        self.reason = ""
        """The name of the task that decided the exit code, or the `reason` argument of `stop`."""
        self._ending = ending
        self._processes = processes
        self._clock = clock
        self._began = clock()
        self._failures = list(ending.failures)
        self._evaluator_ends_at = math.inf

    @property
    def seconds(self) -> float:
        """Return the number of seconds since the start of the run."""
        return self._clock() - self._began

    @property
    def pending_failures(self) -> tuple[Failure, ...]:
        """Return the failures of `--fail` that did not happen, for example because the job ended first."""
        return tuple(self._failures)

    @property
    def lone_tasks(self) -> tuple[str, ...]:
        """Return the names of the training tasks that opened no server, if the run succeeded without any server.

        On a system other than Linux, the result is empty.
        """
        if self.code or any(state.has_listened for state in self.states.values()) or listening_ports() is None:
            return ()
        trainers = ("chief", "worker")
        return tuple(name for name, state in self.states.items() if state.task.port and state.task.role in trainers)

    def lines(self) -> Iterator[OutputLine | None]:
        """Yield the output of the tasks line by line, and None at intervals, so that the caller can do other work."""
        for state in self.states.values():
            self._start(state)
        while any(state.is_running or state.start_at is not None for state in self.states.values()):
            for ended in self._processes.poll(seconds=0.1):
                self._take_end(ended)
            self._observe_ports()
            self._act_on_time()
            self._check_end()
            for state in self.states.values():
                yield from state.lines()
            yield None
        for state in self.states.values():
            yield from state.lines(is_last=True)

    def stop(self, code: int, reason: str) -> None:
        """End the run with an exit code. Another call kills the tasks that still run."""
        now = self._clock()
        if self.code is None:
            self.code, self.reason = code, reason
            self._end_others(0)
        elif now < self._evaluator_ends_at < math.inf:
            self._evaluator_ends_at = now
        else:
            for state in self.states.values():
                state.kill_at = now

    def _start(self, state: State) -> None:
        self._processes.start(state.task)
        state.is_running, state.code, state.start_at = True, None, None
        state.starts += 1

    def _take_end(self, ended: Ended) -> None:
        state = self.states[ended.task]
        state.is_running = False
        state.code = 128 - ended.code if ended.code < 0 else ended.code
        if ended.error:
            state.print(ended.error)
        if self.code is not None:
            return
        if state.is_to_fail:
            state.is_to_fail = False
            state.start_at = self._clock() + _FIRST_PAUSE
        elif not ended.error and state.code in self._ending.ignored_codes:
            state.start_at = self._clock() + _FIRST_PAUSE
            text = f"ended with exit code {state.code}, which uses no retry; starts again in {_FIRST_PAUSE:g} s"
            state.print(text)
        elif state.code and not ended.error and self._may_retry(state):
            state.retried += 1
            seconds = min(_FIRST_PAUSE * 2 ** (state.retried - 1), 10.0)
            state.start_at = self._clock() + seconds
            state.print(f"failed with exit code {state.code}; starts again in {seconds:g} s")
        elif state.code == 0 and (waited_for := [s.task.name for s in self._waited_for() if s.code != 0]):
            restart = "in a cluster, the task starts again; " if self._ending.restarts_successful else ""
            waits = f"{restart}the run waits for {either(waited_for, 'and')}"
            state.print(f"ended with exit code 0; {waits}")

    def _observe_ports(self) -> None:
        waiting = [state for state in self.states.values() if state.task.port and not state.has_listened]
        if waiting:
            ports = listening_ports() or ()
            for state in waiting:
                state.has_listened = state.task.port in ports

    def _may_retry(self, state: State) -> bool:
        retries = state.task.retries if self._ending.retries is None else self._ending.retries
        return retries is None or state.retried < retries

    def _act_on_time(self) -> None:
        """Start, end or kill each task whose planned time has come.

        The planned times are those of retries, of intentional failures and of grace periods.
        """
        now = self._clock()
        for failure in [failure for failure in self._failures if self.seconds >= failure.seconds]:
            state = self.states[failure.task]
            if self.code is None and state.is_running:
                self._failures.remove(failure)
                state.is_to_fail = True
                state.print(f"killed after {failure.seconds:g} s")
                self._processes.send(state.task.name, signal.SIGKILL)
        for state in self.states.values():
            if state.start_at is not None and now >= state.start_at and self.code is None:
                self._start(state)
            if state.kill_at is not None and now >= state.kill_at and state.is_running:
                state.kill_at = None
                self._processes.send(state.task.name, signal.SIGKILL)
        if now >= self._evaluator_ends_at:
            self._evaluator_ends_at = math.inf
            self._tell_to_end([state for state in self.states.values() if state.task.role == "evaluator"])

    def _check_end(self) -> None:
        """Check whether the job has ended. If so, set the exit code and end the other tasks."""
        if self.code is not None:
            return
        failed = next((state for state in self.states.values() if state.code and state.start_at is None), None)
        waited_for = self._waited_for()
        if failed is not None:
            self.code, self.reason = failed.code, failed.task.name
            self._end_others(0)
        elif all(state.code == 0 for state in waited_for):
            self.code, self.reason = 0, waited_for[0].task.name
            self._end_others(self._ending.grace)

    def _waited_for(self) -> list[State]:
        """Return the states of the tasks whose success completes the job."""
        role = "chief" if self._ending.by == "Chief" else "worker"
        of_role = [state for state in self.states.values() if state.task.role == role]
        return of_role[:1] if self._ending.by == "Worker0" else of_role

    def _end_others(self, grace: float) -> None:
        """Send SIGTERM to the running tasks. The evaluator receives SIGTERM `grace` seconds after the other tasks."""
        self._evaluator_ends_at = self._clock() + grace
        self._tell_to_end([state for state in self.states.values() if state.task.role != "evaluator"])
        for state in self.states.values():
            state.start_at = None

    def _tell_to_end(self, states: Sequence[State]) -> None:
        for state in states:
            if state.is_running:
                state.kill_at = self._clock() + state.task.grace
                self._processes.send(state.task.name, signal.SIGTERM)
