"""Tests of a server that nobody can reach."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tfgen.errors import TfgenError
from tfgen.live.api import ONCE, Api, Patience
from tfgen.live.connection import Access, Connection


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def api(folder: Path, listener: socket.socket) -> Api:
    host = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = {
        "clusters": [{"name": "c", "cluster": {"server": host, "insecure-skip-tls-verify": True}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
        "users": [{"name": "u", "user": {"token": "secret"}}],
    }
    kubeconfig = folder / "config"
    kubeconfig.write_text(yaml.safe_dump(config))
    return Api(Connection(Access(kubeconfig=str(kubeconfig))), Patience(answer=0.2, total=1), pytest.fail)


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
