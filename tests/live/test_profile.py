"""Tests of the trace of a task, with the recorded output of the program that runs in the container."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Callable, Mapping, Sequence

import pytest

from tfgen.errors import TfgenError
from tfgen.live import profile
from tfgen.live.connection import Access
from tfgen.live.transport import Executed, Execution

LABELS = {"tfgen/role": "worker", "apps.kubernetes.io/pod-index": "1"}
POD = {"metadata": {"name": "mnist-worker-1", "labels": LABELS}, "spec": {"containers": [{"name": "tensorflow"}]}}


Trace = Callable[[Executed | TfgenError], Mapping[str, bytes] | TfgenError]


def archive(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w|") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch) -> Trace:
    """Return a function that traces a task whose program has the given result."""

    def traced(result: Executed | TfgenError) -> Mapping[str, bytes] | TfgenError:
        def collect(_access: Access, executions: Sequence[Execution]) -> list[Executed | TfgenError]:
            (execution,) = executions
            assert execution.command[:2] == ("python3", "-c")
            assert execution.command[3:] == ("worker", "1", "5")
            return [result]

        monkeypatch.setattr(profile, "collect", collect)
        (files,) = profile.trace_tasks(Access(), [POD], 5)
        return files

    return traced


def test_the_files_of_the_archive_are_the_trace(trace: Trace) -> None:
    data = archive(**{"worker-1.xplane.pb": b"trace"})
    assert trace(Executed(0, data, b"Starting to trace")) == {"worker-1.xplane.pb": b"trace"}


def test_a_file_stays_in_the_folder_of_the_trace(trace: Trace) -> None:
    data = archive(**{"../../etc/worker-1.xplane.pb": b"trace"})
    assert trace(Executed(0, data, b"")) == {"worker-1.xplane.pb": b"trace"}


CLOSED = b"W capture_profile.cc:162] localhost:2222 returned UNAVAILABLE: Socket closed\nUNAVAILABLE: No trace event"
REFUSED = b"RuntimeError: UNAVAILABLE: No trace event was collected"


@pytest.mark.parametrize(
    ("code", "stderr", "message"),
    [
        (
            64,
            b"No module named 'tensorflow'",
            r"python3 of the container cannot import TensorFlow \(No module named 'tensorflow'\); trace a task",
        ),
        (65, b"1.15.5", r"TensorFlow 1\.15\.5 has no profiler client; the client needs TensorFlow 2\.2 or later"),
        (66, b"", r"TF_CONFIG has no address of worker-1, so no TensorFlow server answers a trace"),
        (67, REFUSED, r"no TensorFlow server of worker-1 answers a trace \(.*\); a task starts its server after"),
        (67, CLOSED, r"worker-1 ended during the trace; tfgen logs shows the reason"),
        (137, b"", r"the profiler client exited with code 137"),
    ],
)
def test_a_failure_has_a_cure(code: int, stderr: bytes, message: str, trace: Trace) -> None:
    assert re.match(f"mnist-worker-1: {message}", str(trace(Executed(code, b"", stderr))))


def test_an_incomplete_archive_is_an_error(trace: Trace) -> None:
    data = archive(**{"worker-1.xplane.pb": bytes(5000)})
    for part in (data[:2000], b""):
        assert "the archive of the trace is incomplete" in str(trace(Executed(0, part, b"")))


def test_a_failure_of_kubectl_is_the_reason(trace: Trace) -> None:
    error = TfgenError("mnist-worker-1: lost")
    assert trace(error) is error


def test_an_empty_archive_has_no_events(trace: Trace) -> None:
    assert "the trace has no events; trace more seconds with --seconds" in str(trace(Executed(0, archive(), b"")))
