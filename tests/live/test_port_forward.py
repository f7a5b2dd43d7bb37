"""Tests of a forwarded port, with recorded messages of a kubelet in a websocket over a pair of sockets.

The first message of each stream contains the number of the port, here 6006, in two bytes, the low byte first.
`client-go` and the kubelet of Kubernetes 1.33 use this order.
"""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")

import websocket

from tfgen.errors import TfgenError
from tfgen.live.api import ApiError, Resource
from tfgen.live.channels import Channels
from tfgen.live.port_forward import LOOPBACK, PortForward

PORT = 6006
NUMBER = b"\x76\x17"
DATA, ERROR = b"\x00", b"\x01"
HEADS = (DATA + NUMBER, ERROR + NUMBER)
NORMAL_END = (1000).to_bytes(2)
"""The content of the last message of a websocket, by RFC 6455."""
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
ANSWER = (b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", b"Tensor", b"Board")


class RecordedApi:
    """An API server whose websockets end in this process.

    Attributes:
        refusal: The exception that the server raises instead of opening another websocket.
        asked: The path, the query and the protocol of each websocket.
        servers: The other end of each websocket.
    """

    def __init__(self) -> None:
        self.refusal: Exception | None = None
        self.asked: list[tuple[str, Sequence[tuple[str, str]], str]] = []
        self.servers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._opened: list[Any] = []

    def resource(self, api_version: str, kind: str) -> Resource:
        assert (api_version, kind) == ("v1", "Pod")
        return Resource("/api/v1", "pods", is_namespaced=True)

    def channels(self, path: str, query: Sequence[tuple[str, str]], protocol: str) -> Channels:
        if self.refusal:
            raise self.refusal
        self.asked.append((path, query, protocol))
        ours, theirs = websocket.WebSocket(), websocket.WebSocket()
        ours.sock, theirs.sock = socket.socketpair()
        theirs.settimeout(20)
        self.servers.put(theirs)
        self._opened.append(theirs)
        return Channels(ours, "host")

    def close(self) -> None:
        """Close the other end of all websockets."""
        for server in self._opened:
            server.shutdown()


class Forwarded:
    """A forwarded port.

    Attributes:
        api: The API server.
        told: The messages about connections.
        pods: The successive names of the pod.
    """

    def __init__(self, api: RecordedApi) -> None:
        self.api = api
        self.told: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.pods = ["tensorboard-a"]

    def pod(self) -> Any:
        return {"metadata": {"name": self.pods.pop(0) if len(self.pods) > 1 else self.pods[0]}}

    def forward(self, port: int | None = 0, pod_port: int = PORT) -> PortForward:
        api: Any = self.api
        return PortForward(api, "ml", self.pod, pod_port, port, self.told.put)

    @contextmanager
    def connected(self) -> Iterator[tuple[socket.socket, Any]]:
        """Connect to the port, and yield the connection and the other end of its websocket."""
        with self.forward() as forward:
            self.api.servers.get(timeout=20)  # the first websocket only checks the permission to forward
            threading.Thread(target=serve_once, args=[forward], daemon=True).start()
            with socket.create_connection((LOOPBACK, forward.port), timeout=20) as local:
                server = self.api.servers.get(timeout=20)
                yield local, server
                server.shutdown()


@pytest.fixture
def api() -> Iterator[RecordedApi]:
    api = RecordedApi()
    yield api
    api.close()


def serve_once(forward: PortForward) -> None:
    """Call `serve` until the listener is closed. In tfgen, `serve` runs until the process ends."""
    try:
        forward.serve()
    except OSError:
        return


def send(server: Any, *messages: bytes) -> None:
    for message in messages:
        server.send_binary(message)


def received(local: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (part := local.recv(size)):
        data += part
    return data


def test_bytes_go_both_ways_without_the_number_of_the_port(api: RecordedApi) -> None:
    forwarded = Forwarded(api)
    with forwarded.connected() as (local, server):
        local.sendall(REQUEST)
        assert server.recv() == DATA + REQUEST
        send(server, *HEADS, *(DATA + part for part in ANSWER))
        assert received(local, len(b"".join(ANSWER))) == b"".join(ANSWER)
    path = "/api/v1/namespaces/ml/pods/tensorboard-a/portforward"
    assert forwarded.api.asked == [(path, [("ports", "6006")], "v4.channel.k8s.io")] * 2
    assert forwarded.told.empty()


def test_the_number_may_come_with_the_first_bytes(api: RecordedApi) -> None:
    with Forwarded(api).connected() as (local, server):
        send(server, DATA + NUMBER + b"early")
        assert received(local, 5) == b"early"


def test_the_end_of_the_server_ends_the_connection_after_its_last_bytes(api: RecordedApi) -> None:
    with Forwarded(api).connected() as (local, server):
        send(server, *HEADS, DATA + b"last")
        server.send(NORMAL_END, websocket.ABNF.OPCODE_CLOSE)
        assert received(local, 100) == b"last"


def test_the_end_of_the_local_side_ends_the_websocket_after_its_last_bytes(api: RecordedApi) -> None:
    with Forwarded(api).connected() as (local, server):
        local.sendall(b"bye")
        local.shutdown(socket.SHUT_WR)
        assert server.recv() == DATA + b"bye"
        with pytest.raises((websocket.WebSocketConnectionClosedException, OSError)):
            server.recv()


def test_an_error_of_the_kubelet_is_told_and_ends_the_connection(api: RecordedApi) -> None:
    refused = b"error forwarding port 6006 to pod: dial tcp4 127.0.0.1:6006: connect: connection refused\n"
    forwarded = Forwarded(api)
    with forwarded.connected() as (local, server):
        send(server, *HEADS, ERROR + refused[:20], ERROR + refused[20:])
        server.send(NORMAL_END, websocket.ABNF.OPCODE_CLOSE)
        assert received(local, 1) == b""
    assert forwarded.told.get(timeout=20) == refused.decode().strip()


def test_each_connection_takes_the_pod_that_is_there_then(api: RecordedApi) -> None:
    forwarded = Forwarded(api)
    forwarded.pods = ["tensorboard-a", "tensorboard-b"]
    with forwarded.connected():
        pass
    assert [path.split("/")[-2] for path, _, _ in forwarded.api.asked] == ["tensorboard-a", "tensorboard-b"]


def test_a_refusal_is_told_before_anybody_connects(api: RecordedApi) -> None:
    api.refusal = ApiError(403, "403: pods/portforward is forbidden")
    with pytest.raises(ApiError, match="portforward is forbidden"), Forwarded(api).forward():
        pass


def test_a_connection_that_the_server_refuses_is_told(api: RecordedApi) -> None:
    forwarded = Forwarded(api)
    with forwarded.forward() as forward:
        forwarded.api.servers.get(timeout=20)
        api.refusal = TfgenError("host: no answer in 5 s")
        threading.Thread(target=serve_once, args=[forward], daemon=True).start()
        with socket.create_connection((LOOPBACK, forward.port), timeout=20) as local:
            assert received(local, 1) == b""
    assert forwarded.told.get(timeout=20) == "host: no answer in 5 s"


def taken_port() -> tuple[socket.socket, int]:
    listener = socket.create_server((LOOPBACK, 0))
    return listener, listener.getsockname()[1]


@pytest.mark.parametrize(("requested", "is_error"), [(lambda port: port, True), (lambda _port: None, False)])
def test_a_taken_port(requested: Callable[[int], int | None], is_error: bool, api: RecordedApi) -> None:
    """A taken port is an error only if the user chose the port. The number of the pod's port is only a preference."""
    listener, port = taken_port()
    forward = Forwarded(api).forward(requested(port), port)
    with listener:
        if is_error:
            with (
                pytest.raises(
                    TfgenError, match=rf"^127\.0\.0\.1:{port}: Address already in use; set --port to a free port$"
                ),
                forward,
            ):
                pass
        else:
            with forward:
                assert forward.port not in (0, port)
