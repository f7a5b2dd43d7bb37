"""Traces of the TensorFlow servers of tasks.

tfgen runs TensorFlow's profiler client (`trace_server.py`) in the container of each task.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tfgen import data_path
from tfgen.errors import Problem, ProblemsError, TfgenError
from tfgen.kubernetes.object import Object
from tfgen.live.connection import Access
from tfgen.live.tasks import index_of, role_of, task_name
from tfgen.live.trace_server import NO_SERVER, NO_TENSORFLOW, NO_TRACE, TOO_OLD
from tfgen.live.transport import Executed, Execution, collect
from tfgen.text.document import Document


def trace_tasks(access: Access, pods: Sequence[Object], seconds: int) -> list[Mapping[str, bytes] | TfgenError]:
    """Trace tasks at the same time.

    Return the trace files of each task by name, such as worker-1.xplane.pb, or the reason why the task has no trace.
    """
    program = Path(__file__).with_name("trace_server.py").read_text(encoding="utf-8")
    executions = [
        Execution(pod, ("python3", "-c", program, role_of(pod), str(index_of(pod)), str(seconds))) for pod in pods
    ]
    return [_trace(pod, result) for pod, result in zip(pods, collect(access, executions), strict=True)]


def _trace(pod: Object, result: Executed | TfgenError) -> Mapping[str, bytes] | TfgenError:
    if isinstance(result, TfgenError):
        return result
    name = pod["metadata"]["name"]
    if result.code:
        lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
        return TfgenError(f"{name}: {_failure(result.code, lines, task_name(pod))}")
    try:
        with tarfile.open(fileobj=io.BytesIO(result.stdout)) as tar:
            members = ((member, tar.extractfile(member)) for member in tar if member.isfile())
            files = {member.name.rpartition("/")[2]: file.read() for member, file in members if file}
    except (tarfile.TarError, EOFError) as error:
        return TfgenError(f"{name}: the archive of the trace is incomplete: {error}; try again")
    return files or TfgenError(f"{name}: the trace has no events; trace more seconds with --seconds")


def _failure(code: int, lines: Sequence[str], task: str) -> str:
    """Return a text with the reason why the trace of a task failed, and a fix.

    Args:
        code: exit code of the program `trace_server`.
        lines: lines that the program wrote to standard error.
        task: name of the task.
    """
    last = lines[-1] if lines else ""
    if code == NO_TRACE and any("Socket closed" in line for line in lines):  # the server has ended
        return (
            f"{task} ended during the trace; tfgen logs shows the reason. The profiler of TensorFlow can end a "
            "worker of MultiWorkerMirroredStrategy; the run then resumes from its last checkpoint"
        )
    texts = {
        NO_TENSORFLOW: f"python3 of the container cannot import TensorFlow ({last}); trace a task whose image has "
        "TensorFlow",
        TOO_OLD: f"TensorFlow {last} has no profiler client; the client needs TensorFlow 2.2 or later in the image",
        NO_SERVER: f"TF_CONFIG has no address of {task}, so no TensorFlow server answers a trace; call "
        "tf.profiler.experimental.start in the program",
        NO_TRACE: f"no TensorFlow server of {task} answers a trace ({last}); a task starts its server after the import "
        "of TensorFlow, so wait for the first step and try again",
    }
    return texts.get(code, f"the profiler client exited with code {code}: {last}")


RULES: Final[Mapping[str, str]] = {
    "untraceable-strategy": "The tasks of the strategy have no TensorFlow server that `tfgen profile` can trace.",
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
        raise ProblemsError([Problem(*document.place(path), message, "untraceable-strategy")])
