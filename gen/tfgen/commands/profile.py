"""``tfgen profile``: trace the TensorFlow servers of a run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from tfgen import data_path
from tfgen.errors import Problem, ProblemsError, TfgenError
from tfgen.kubernetes.object import Object
from tfgen.live.api import Api
from tfgen.live.connection import Access
from tfgen.live.profile import trace_tasks
from tfgen.live.read_cluster import run_pods, task_pod
from tfgen.live.run import DeclaredRun
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.tree.folder import write_new_folder

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


def profile_run(api: Api, access: Access, run: DeclaredRun, request: TraceRequest) -> Traces:
    """Trace the requested tasks of a run at the same time.

    Args:
        api: the client of the cluster.
        access: the kubeconfig, the context and the namespace of the run.
        run: the run.
        request: the tasks and the duration.

    Raises:
        ApiError: the user may not list pods.
        TfgenError: no task could be traced.
    """
    namespace = access.namespace or ""
    pods = run_pods(api, namespace, run)
    traceable: list[Object] = []
    errors: list[TfgenError] = []
    for index in request.indexes:
        try:
            traceable.append(task_pod(pods, namespace, run, request.role, index))
        except TfgenError as error:
            errors.append(error)
    files: dict[str, bytes] = {}
    for result in trace_tasks(access, traceable, request.seconds):
        if isinstance(result, TfgenError):
            errors.append(result)
        else:
            files |= result
    if not files:
        raise errors[0]
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


def may_end_workers(run: DeclaredRun) -> bool:
    """Test whether a trace may crash a worker: True for a run with several workers and no chief.

    If a collective operation starts in one thread and ends in a different thread, TensorFlow's recorder frees invalid
    memory: SplitEventTracker::FindStartAndMerge. TensorFlow 2.20 and 2.21 have this fault.
    """
    return "chief" not in run.roles and run.roles.get("worker", 0) > 1
