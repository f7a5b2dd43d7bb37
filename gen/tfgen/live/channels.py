"""A websocket with numbered streams in it, as the API server has them for exec and port-forward.

The first byte of each message is the number of its stream:
https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets

One thread owns it. It waits in `wait`, which sends too, and takes what has come by `receive`; neither blocks the
other, so a side that reads nothing until it is read itself holds up nobody.
"""

from __future__ import annotations

import select
import ssl
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tfgen.errors import TfgenError
from tfgen.live.kubernetes_client import websocket

_CLOSE: Final = 255
"""The number under which the end of another stream is told, from v5.channel.k8s.io on."""
_ROOM: Final = 1 << 20
"""Bytes that may wait to be sent before no more are taken."""
_AT_ONCE: Final = 64
"""Messages after which whoever receives them may do something else."""
_PING: Final = 5.0
"""Seconds between two signs of life, as kubectl has it; a load balancer ends what is silent."""
_PINGS: Final = 12
"""Signs of life without an answer after which the server is lost."""
_NOTHING_YET: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

Readable = Any
"""What `select` takes: a file descriptor, or an object that has one."""


class Channels:
    """The streams of one websocket, until it is left.

    Attributes:
        is_open: whether the other side may still send something.
    """

    def __init__(self, socket: Any, host: str) -> None:
        """Args: the websocket of websocket-client, connected, and the server's address for errors."""
        socket.settimeout(0)
        self._socket, self._host = socket, host
        self._unsent = bytearray()
        self._last = 0
        self._has_more = True  # TLS may have read more than the handshake
        self._next_ping = time.monotonic() + _PING
        self._unanswered = 0
        self.is_open = True

    def __enter__(self) -> Channels:
        return self

    def __exit__(self, *_error: object) -> None:
        self._socket.shutdown()

    @property
    def has_room(self) -> bool:
        """Whether more should be sent: the other side keeps up."""
        return len(self._unsent) < _ROOM

    @property
    def is_sent(self) -> bool:
        """Whether all has left this side."""
        return not self._unsent

    def send(self, channel: int, data: bytes) -> None:
        """Have a part of a stream sent by the next waits."""
        self._queue(bytes((channel,)) + data, websocket.ABNF.OPCODE_BINARY)

    def end(self, channel: int) -> None:
        """Have the end of a stream sent."""
        self.send(_CLOSE, bytes((channel,)))

    def wait(self, others: Sequence[Readable] = ()) -> list[Readable]:
        """Wait until something has come, was sent, or can be read from one of the others; which are given.

        Raises:
            TfgenError: the server is lost.
        """
        socket = self._socket.sock
        writers = [socket] if self._unsent else []
        patience = 0 if self._has_more else max(0.0, self._next_ping - time.monotonic())
        readable, writable, _ = select.select([socket, *others], writers, [], patience)
        if writable:
            self._flush()
        if time.monotonic() >= self._next_ping and socket not in readable:
            self._ping()
        return [other for other in others if other in readable]

    def receive(self) -> Iterator[tuple[int, bytes]]:
        """What has come so far: each time the number of a stream, and a part of it."""
        self._has_more = True
        for _ in range(_AT_ONCE):
            try:
                frame = self._socket.recv_frame()
            except _NOTHING_YET:
                break
            except (OSError, websocket.WebSocketException):
                self.is_open = False
                break
            self._unanswered = 0
            match frame.opcode:
                case websocket.ABNF.OPCODE_CLOSE:
                    self.is_open = False
                    break
                case websocket.ABNF.OPCODE_PING:
                    self._queue(frame.data, websocket.ABNF.OPCODE_PONG)
                case websocket.ABNF.OPCODE_CONT:
                    yield self._last, frame.data
                case websocket.ABNF.OPCODE_BINARY if frame.data:
                    self._last = frame.data[0]
                    yield self._last, frame.data[1:]
        else:
            return
        self._has_more = False

    def _queue(self, data: bytes, opcode: int) -> None:
        self._unsent += websocket.ABNF.create_frame(data, opcode).format()

    def _flush(self) -> None:
        try:
            del self._unsent[: self._socket.sock.send(self._unsent)]
        except _NOTHING_YET:
            pass
        except OSError as error:
            raise TfgenError(f"{self._host}: the connection broke off: {error}") from error

    def _ping(self) -> None:
        self._unanswered += 1
        if self._unanswered > _PINGS:
            raise TfgenError(f"{self._host}: no answer in {_PINGS * _PING:.0f} s")
        self._queue(b"", websocket.ABNF.OPCODE_PING)
        self._next_ping = time.monotonic() + _PING
