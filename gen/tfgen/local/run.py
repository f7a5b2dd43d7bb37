"""One local run: its tasks from their start to the end of the job, and what they print.

    with Processes(root) as processes:
        run = Run(tasks, Ending("Chief"), processes, time.monotonic)
        for line in run.lines(): print(line.task, line.text)
    run.code

The task that ends the job ends the others. A task that fails ends the run, so that a mistake shows at once, unless it
may be started again.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tfgen.local.failure import Failure
from tfgen.local.output import Line, Output
from tfgen.local.processes import Ended, Processes
from tfgen.local.task import Task
from tfgen.record import Record
from tfgen.schema.workload_kinds.facts import CompletionBy

_POLL_SECONDS: Final = 0.1
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 10.0
"""Seconds before a task is started again, doubled with each time."""


class Ending(Record):
    """When the run ends.

    Attributes:
        by: whose end is the job's.
        grace: seconds that the evaluator has after it.
        retries: how often a task that fails is started again; None for as often as its controller does.
        failures: the tasks that are killed on purpose. Each is started again.
        ignored_codes: exit codes after which a task starts again without a retry.
    """

    by: CompletionBy
    grace: float = 0
    retries: int | None = 0
    failures: tuple[Failure, ...] = ()
    ignored_codes: tuple[int, ...] = ()


class State:
    """How one task is.

    Attributes:
        code: its exit code, once it has ended; as shells have it.
        starts: how often it was started.
        start_at: when it is to be started again; None if not.
        kill_at: when its time to end is over; None while nothing told it to end.
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

    def end(self, code: int) -> None:
        """Take note of its end."""
        self.is_running = False
        self.code = code


class Run:
    """The tasks of a run. Every member is for reading, once `lines` is at its end."""

    def __init__(self, tasks: Sequence[Task], ending: Ending, processes: Processes, clock: Callable[[], float]) -> None:
        self.states = {task.name: State(task) for task in tasks}
        self.code: int | None = None
        """The job's exit code, once it has one."""
        self.reason = ""
        """Which task gave it."""
        self._ending = ending
        self._processes = processes
        self._clock = clock
        self._began = clock()
        self._failures = list(ending.failures)
        self._evaluator_ends_at = math.inf
        self._output = Output(tasks)

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return self._clock() - self._began

    @property
    def not_failed(self) -> tuple[Failure, ...]:
        """The failures that the job's end came before."""
        return tuple(self._failures)

    def lines(self) -> Iterator[Line | None]:
        """What the tasks print, line by line; None now and then, when there is something else to do."""
        for state in self.states.values():
            self._start(state)
        while any(state.is_running or state.start_at is not None for state in self.states.values()):
            for ended in self._processes.poll(_POLL_SECONDS):
                self._take_end(ended)
            self._keep_times()
            self._judge()
            yield from self._output.new_lines()
            yield None
        yield from self._output.last_lines()

    def stop(self, code: int, reason: str) -> None:
        """Tell every task to end; a second time, end them at once. Of a job that has ended, those that are left."""
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
        state.end(128 - ended.code if ended.code < 0 else ended.code)
        if ended.error:
            self._output.add(state.task, f"tfgen: {ended.error}")
        if self.code is not None:
            return
        if state.is_to_fail:
            state.is_to_fail = False
            state.start_at = self._clock() + _FIRST_PAUSE
        elif not ended.error and state.code in self._ending.ignored_codes:
            state.start_at = self._clock() + _FIRST_PAUSE
            self._output.add(
                state.task, f"tfgen: ended with {state.code}, which costs no retry; starts again in {_FIRST_PAUSE:g} s"
            )
        elif state.code and not ended.error and self._may_retry(state):
            state.retried += 1
            seconds = min(_FIRST_PAUSE * 2 ** (state.retried - 1), _LONGEST_PAUSE)
            state.start_at = self._clock() + seconds
            self._output.add(state.task, f"tfgen: failed with {state.code}; starts again in {seconds:g} s")

    def _may_retry(self, state: State) -> bool:
        retries = state.task.retries if self._ending.retries is None else self._ending.retries
        return retries is None or state.retried < retries

    def _keep_times(self) -> None:
        """Do what it is time for."""
        now = self._clock()
        for failure in [failure for failure in self._failures if self.seconds >= failure.seconds]:
            state = self.states[failure.task]
            if self.code is None and state.is_running:
                self._failures.remove(failure)
                state.is_to_fail = True
                self._output.add(state.task, f"tfgen: killed after {failure.seconds:g} s")
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

    def _judge(self) -> None:
        """See whether the job has ended, and how."""
        if self.code is not None:
            return
        failed = next((state for state in self.states.values() if state.code and state.start_at is None), None)
        waited_for = [state for state in self.states.values() if self._ends_job(state.task)]
        if failed is not None:
            self.code, self.reason = failed.code, failed.task.name
            self._end_others(0)
        elif all(state.code == 0 for state in waited_for):
            self.code, self.reason = 0, waited_for[0].task.name
            self._end_others(self._ending.grace)

    def _ends_job(self, task: Task) -> bool:
        match self._ending.by:
            case "Chief":
                return task.role == "chief"
            case "Worker0":
                return task.name == "worker-0"
        return task.role == "worker"

    def _end_others(self, grace: float) -> None:
        """Tell the tasks that still run to end, and the evaluator so many seconds later."""
        self._evaluator_ends_at = self._clock() + grace
        self._tell_to_end([state for state in self.states.values() if state.task.role != "evaluator"])
        for state in self.states.values():
            state.start_at = None

    def _tell_to_end(self, states: Sequence[State]) -> None:
        for state in states:
            if state.is_running:
                state.kill_at = self._clock() + state.task.grace
                self._processes.send(state.task.name, signal.SIGTERM)
