"""``tfgen profile``: trace the TensorFlow servers of a run, and compare the step times of the tasks."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Final

from tfgen import data_path
from tfgen.errors import TfgenError
from tfgen.live.api import Api
from tfgen.live.declared_run import DeclaredRun
from tfgen.live.step_times import StepTimes, step_times
from tfgen.live.task_pod import task_pod
from tfgen.live.task_trace import trace_task
from tfgen.problems import Problem, ProblemsError
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.tree.folder import write_new_folder

_TRACE: Final = ".xplane.pb"
_MOST: Final = 64
"""Maximum number of tasks that are traced at the same time."""

_UNTRACEABLE: Final = "untraceable-strategy"
RULES: Final[Mapping[str, str]] = {
    _UNTRACEABLE: "The tasks of the strategy have no TensorFlow server that `tfgen profile` can trace.",
}
"""The description of each rule, by the id of the rule, for the problems of `tfgen profile`."""

_NO_SERVER: Final[Mapping[str, str]] = {
    "KerasDistribution": (
        "tfgen profile cannot trace the tasks, because the tasks run JAX; call jax.profiler.start_trace in the program"
    ),
    "Single": (
        "tfgen profile cannot trace the task, because the task has no TensorFlow server; call "
        "tf.profiler.experimental.start in the program"
    ),
}
"""The message with the reason and the fix, by the strategy whose tasks cannot be traced."""


def check_traceable(document: Document) -> None:
    """Raise ProblemsError for a job whose strategy has no TensorFlow server to trace."""
    path = ("spec", "strategy")
    message = _NO_SERVER.get(data_path.at(document.data, path) or "")
    if message:
        raise ProblemsError([Problem(*document.place(path), message, _UNTRACEABLE)])


class TaskProfile(Record):
    """The step times of a traced task.

    Attributes:
        task: the name of the task, such as `worker-0`.
        steps: the number of the steps and their mean times; None for a trace with fewer than two steps.
        is_slowest: True for the task with the longest steps, if at least two tasks have step times. The comparison
            leaves out the collective operations, in which the tasks wait for each other.
    """

    task: str
    steps: StepTimes | None
    is_slowest: bool = False


class TraceRequest(Record):
    """The tasks to trace, and the duration of the trace.

    Attributes:
        role: the role of the tasks.
        indexes: the indexes of the tasks in the role.
        seconds: the duration of the trace in seconds.
    """

    role: str
    indexes: tuple[int, ...]
    seconds: int


class Traces(Record):
    """The trace files of a run, and the errors.

    Attributes:
        files: the content of each trace file, by the name of the file.
        failures: the error messages, one for each task without a trace.
    """

    files: Mapping[str, bytes]
    failures: tuple[str, ...]


def profile_run(api: Api, namespace: str, run: DeclaredRun, request: TraceRequest) -> Traces:
    """Trace the requested tasks of a run at the same time.

    Raises:
        ApiError: the user may not list pods, or may not run commands in pods.
        TfgenError: no task could be traced.
    """

    def trace(index: int) -> Mapping[str, bytes] | TfgenError:
        try:
            pod = task_pod(api, namespace, run, request.role, index)
            return trace_task(api, namespace, pod, request.seconds)
        except TfgenError as error:
            return error

    with ThreadPoolExecutor(_MOST) as pool:
        results = list(pool.map(trace, request.indexes))
    errors = [result for result in results if isinstance(result, TfgenError)]
    if len(errors) == len(results):
        raise errors[0]
    files = {name: data for result in results if not isinstance(result, TfgenError) for name, data in result.items()}
    return Traces(files, tuple(map(str, errors)))


def write_profile(folder: Path, files: Mapping[str, bytes], time: datetime) -> Path:
    """Write trace files to a new folder below TensorBoard's log folder, and return the new folder.

    Args:
        folder: the log folder of TensorBoard.
        files: the content of each trace file, by the name of the file.
        time: the time for the name of the new folder.

    Raises:
        TfgenError: the disk fails. No file is written.
    """
    target = folder / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
    write_new_folder(target, files)
    return target


def task_profiles(files: Mapping[str, bytes]) -> list[TaskProfile]:
    """Return a profile for each trace file in `files`, in the order of the task indexes.

    If at least two tasks have step times, the attribute `is_slowest` of the slowest task is True.

    Args:
        files: the content of each file, by the name of the file. A file without the extension of trace files,
            `.xplane.pb`, is skipped.

    Raises:
        TfgenError: the content of a trace file is invalid.
    """
    traces = {name.removesuffix(_TRACE): data for name, data in files.items() if name.endswith(_TRACE)}
    profiles = [TaskProfile(task, step_times(data)) for task, data in sorted(traces.items(), key=_order)]
    times = {item.task: item.steps.active_ms for item in profiles if item.steps}
    if len(times) < 2:
        return profiles
    slowest = max(times, key=lambda task: times[task])
    return [item.replaced(is_slowest=item.task == slowest) for item in profiles]


def may_end_workers(run: DeclaredRun) -> bool:
    """Test whether a trace may crash a worker: True for a run with several workers and no chief.

    If a collective operation starts in one thread and ends in a different thread, TensorFlow's recorder frees invalid
    memory: SplitEventTracker::FindStartAndMerge. TensorFlow 2.20 and 2.21 have this fault.
    """
    return "chief" not in run.roles and run.roles.get("worker", 0) > 1


def _order(item: tuple[str, bytes]) -> tuple[str, int]:
    role, _, index = item[0].rpartition("-")
    return role, int(index) if index.isdecimal() else 0
