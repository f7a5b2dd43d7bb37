"""Tests of the streams of a websocket. websocket-client writes the frames, and a socket pair replaces the network."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import websocket

from tfgen.errors import TfgenError
from tfgen.live.channels import Channels

CONTINUED, BINARY, PING, PONG = 0, 2, 9, 10
"""The opcodes of RFC 6455."""
MANY = 4 << 20


@pytest.fixture
def pair() -> Iterator[tuple[Any, Any]]:
    """Yield the streams, and the websocket at the other end."""
    ours, theirs = websocket.WebSocket(), websocket.WebSocket()
    ours.sock, theirs.sock = socket.socketpair()
    with Channels(ours, "host") as channels:
        yield channels, theirs
    theirs.shutdown()


def frame(opcode: int, data: bytes, *, is_last: bool = True) -> bytes:
    from websocket import ABNF

    return bytes(ABNF.create_frame(data, opcode, int(is_last)).format())


def test_a_message_in_parts_is_of_one_stream(pair: tuple[Any, Any]) -> None:
    channels, peer = pair
    peer.sock.sendall(frame(BINARY, b"\x01out", is_last=False) + frame(CONTINUED, b"put") + frame(BINARY, b"\x02err"))
    channels.wait()
    assert [*channels.receive()] == [(1, b"out"), (1, b"put"), (2, b"err")]


def test_a_sign_of_life_is_answered(pair: tuple[Any, Any]) -> None:
    channels, peer = pair
    peer.sock.sendall(frame(PING, b"there?"))
    assert [*channels.receive()] == []
    channels.wait()
    answer = peer.recv_frame()
    assert (answer.opcode, answer.data) == (PONG, b"there?")


def test_the_end_of_a_stream_is_a_message(pair: tuple[Any, Any]) -> None:
    channels, peer = pair
    channels.send(0, b"last")
    channels.end(0)
    channels.wait()
    assert [peer.recv_frame().data for _ in range(2)] == [b"\x00last", b"\xff\x00"]
    assert channels.is_sent


def test_a_side_that_writes_all_before_it_reads_holds_up_nobody(pair: tuple[Any, Any]) -> None:
    channels, peer = pair
    taken = bytearray()

    def write_and_read() -> None:
        peer.sock.sendall(frame(BINARY, b"\x01" + bytes(MANY)))
        taken.extend(peer.recv_frame().data)

    thread = threading.Thread(target=write_and_read)
    thread.start()
    channels.send(0, bytes(MANY))
    assert not channels.has_room
    came = b""
    while len(came) < MANY or not channels.is_sent:
        channels.wait()
        came += b"".join(data for _, data in channels.receive())
    thread.join(60)
    assert (len(came), len(taken)) == (MANY, 1 + MANY)


def test_a_server_that_answers_no_sign_of_life_is_lost(pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfgen.live.channels._PING", 0.01)
    channels, _ = pair
    channels._next_ping = 0
    assert [*channels.receive()] == []
    with pytest.raises(TfgenError, match=r"^host: no answer in "):
        all(channels.wait() == [] for _ in range(100))


def test_an_end_of_the_connection_is_an_end(pair: tuple[Any, Any]) -> None:
    channels, peer = pair
    peer.sock.sendall(frame(BINARY, b"\x01last"))
    peer.sock.shutdown(socket.SHUT_RDWR)
    channels.wait()
    assert [*channels.receive()] == [(1, b"last")]
    assert not channels.is_open
