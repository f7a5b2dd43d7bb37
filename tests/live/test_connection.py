"""Tests of a websocket whose server accepts the connection and then sends nothing."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tfgen.errors import TfgenError
from tfgen.live.api import Api, ApiError
from tfgen.live.connection import Access, Connection
from tfgen.live.pauses import ONCE, Patience

PATH = "/api/v1/namespaces/ml/pods/mnist-chief-0/exec"
PROTOCOL = "v5.channel.k8s.io"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def api(folder: Path, listener: socket.socket, scheme: str = "http") -> Api:
    host = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
    config = {
        "clusters": [{"name": "c", "cluster": {"server": host, "insecure-skip-tls-verify": True}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
        "users": [{"name": "u", "user": {"token": "secret"}}],
    }
    kubeconfig = folder / "config"
    kubeconfig.write_text(yaml.safe_dump(config))
    return Api(Connection(Access(kubeconfig=str(kubeconfig))), Patience(answer=0.2, total=1), pytest.fail)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_says_nothing_is_not_waited_for(scheme: str, tmp_path: Path, listener: socket.socket) -> None:
    began = time.monotonic()
    with pytest.raises(TfgenError, match=r"^https?://127\.0\.0\.1:\d+: no answer in 0\.2 s$"):
        api(tmp_path, listener, scheme).channels(PATH, [("command", "ls")], PROTOCOL)
    assert time.monotonic() - began < 10


def test_the_server_is_asked_by_the_account_for_the_protocol(tmp_path: Path, listener: socket.socket) -> None:
    requests: list[bytes] = []

    def refuse() -> None:
        client, _ = listener.accept()
        with client:
            requests.append(client.recv(1 << 16))
            client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 22\r\n\r\n" + b'{"message": "no pod"}\r\n')

    thread = threading.Thread(target=refuse)
    thread.start()
    with pytest.raises(ApiError, match="404: no pod"):
        api(tmp_path, listener).channels(PATH, [("command", "ls")], PROTOCOL)
    thread.join()
    (request,) = requests
    assert request.startswith(f"GET {PATH}?command=ls HTTP/1.1\r\n".encode())
    assert b"Authorization: Bearer secret\r\n" in request
    assert b"Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n" in request


def test_a_server_that_nobody_can_reach_is_given_up_after_three_seconds(
    tmp_path: Path, listener: socket.socket
) -> None:
    client = api(tmp_path, listener)
    address = client.connection.host
    listener.close()
    client = Api(client.connection, ONCE, [].append)
    began = time.monotonic()
    with pytest.raises(TfgenError) as caught:
        client.data("GET", "/version")
    assert str(caught.value).startswith(f"the API server at {address} cannot be reached: ")
    assert "Connection refused" in str(caught.value)
    assert time.monotonic() - began < 5
