"""Tests of a trace over the streams of exec, with recorded frames of exec in a pair of sockets."""

from __future__ import annotations

import io
import json
import socket
import tarfile
from typing import Any

import pytest
import websocket

from tfgen.errors import TfgenError
from tfgen.live.api import Resource
from tfgen.live.channels import Channels
from tfgen.live.task_trace import trace_task

LABELS = {"tfgen/role": "worker", "apps.kubernetes.io/pod-index": "1"}
POD = {"metadata": {"name": "mnist-worker-1", "labels": LABELS}, "spec": {"containers": [{"name": "tensorflow"}]}}
STDOUT, STDERR, STATUS = 1, 2, 3
BINARY = 2


class RecordedApi:
    """An API server that answers exec with recorded frames."""

    def __init__(self, *frames: tuple[int, bytes]) -> None:
        self.query: list[tuple[str, str]] = []
        self._frames = frames

    def resource(self, _version: str, _kind: str) -> Resource:
        return Resource("/api/v1", "pods", is_namespaced=True)

    def channels(self, path: str, query: list[tuple[str, str]], _protocol: str) -> Channels:
        assert path == "/api/v1/namespaces/ml/pods/mnist-worker-1/exec"
        self.query = query
        client, server = websocket.WebSocket(), websocket.WebSocket()
        client.sock, server.sock = socket.socketpair()
        for stream, data in self._frames:
            server.sock.sendall(websocket.ABNF.create_frame(bytes((stream,)) + data, BINARY).format())
        server.sock.close()
        return Channels(client, "host")


def status(code: int) -> bytes:
    """Return the Status of exec, as the kubelet sends it."""
    if not code:
        return json.dumps({"metadata": {}, "status": "Success"}).encode()
    causes = {"causes": [{"reason": "ExitCode", "message": str(code)}]}
    return json.dumps({"status": "Failure", "reason": "NonZeroExitCode", "details": causes}).encode()


def archive(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w|") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def trace(*frames: tuple[int, bytes]) -> tuple[dict[str, bytes], Any]:
    api: Any = RecordedApi(*frames)
    return dict(trace_task(api, "ml", POD, 5)), api


def test_the_files_of_the_archive_are_the_trace() -> None:
    data = archive(**{"worker-1.xplane.pb": b"trace"})
    files, api = trace((STDERR, b"Starting to trace"), (STDOUT, data[:600]), (STDOUT, data[600:]), (STATUS, status(0)))
    assert files == {"worker-1.xplane.pb": b"trace"}
    words = [value for key, value in api.query if key == "command"]
    assert words[:2] == ["python3", "-c"]
    assert words[3:] == ["worker", "1", "5"]


def test_a_file_stays_in_the_folder_of_the_trace() -> None:
    files, _ = trace((STDOUT, archive(**{"../../etc/worker-1.xplane.pb": b"trace"})), (STATUS, status(0)))
    assert [*files] == ["worker-1.xplane.pb"]


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
def test_a_failure_has_a_cure(code: int, stderr: bytes, message: str) -> None:
    with pytest.raises(TfgenError, match=rf"^mnist-worker-1: {message}"):
        trace((STDERR, stderr), (STATUS, status(code)))


def test_an_incomplete_archive_is_an_error() -> None:
    data = archive(**{"worker-1.xplane.pb": bytes(5000)})
    with pytest.raises(TfgenError, match="the archive of the trace is incomplete"):
        trace((STDOUT, data[:2000]), (STATUS, status(0)))


def test_a_lost_connection_is_an_error() -> None:
    with pytest.raises(TfgenError, match="the connection was lost before the command ended"):
        trace((STDOUT, b"part"))


def test_an_empty_archive_has_no_events() -> None:
    with pytest.raises(TfgenError, match="the trace has no events; trace more seconds with --seconds"):
        trace((STDOUT, archive()), (STATUS, status(0)))
