"""A websocket with numbered streams, which the API server uses for exec and port-forward.

The first byte of each message is the number of the stream:
https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets

A single thread uses the websocket: `wait` sends the queued bytes, and `receive` reads messages. The websocket is in
non-blocking mode, so the thread can read even while the server accepts no bytes. Therefore, tfgen and the server never
wait for each other.
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
"""Number of the stream whose messages close other streams. The protocol has the stream since v5.channel.k8s.io."""
_ROOM: Final = 1 << 20
"""Number of unsent bytes at which the caller should wait before the next `send`."""
_AT_ONCE: Final = 64
"""Maximum number of messages that one call of `receive` reads, so that the caller can read its files between calls."""
_PING: Final = 5.0
"""Seconds between two pings, as in kubectl; a load balancer closes a silent connection."""
_PINGS: Final = 12
"""Number of unanswered pings after which tfgen treats the connection as lost."""
_NOTHING_YET: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

Readable = Any
"""Argument of `select`: a file descriptor, or an object with the method `fileno`."""


class Channels:
    """The streams of one websocket. The context manager closes the websocket.

    Attributes:
        is_open: whether the server may still send data.
    """

    def __init__(self, socket: Any, host: str) -> None:
        """Store a connected websocket of websocket-client, and the server's address for error messages."""
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
        """Return True if the caller may queue more bytes, because few of the queued bytes are unsent."""
        return len(self._unsent) < _ROOM

    @property
    def is_sent(self) -> bool:
        """Return True if the websocket has sent all queued bytes."""
        return not self._unsent

    def send(self, channel: int, data: bytes) -> None:
        """Queue bytes for the stream `channel`. Later calls of `wait` send the bytes."""
        self._queue(bytes((channel,)) + data, websocket.ABNF.OPCODE_BINARY)

    def end(self, channel: int) -> None:
        """Queue the message that closes the stream `channel`. Later calls of `wait` send the message."""
        self.send(_CLOSE, bytes((channel,)))

    def wait(self, files: Sequence[Readable] = ()) -> list[Readable]:
        """Wait until the websocket or one of the `files` is ready, and send queued bytes. Return the readable `files`.

        Raises:
            TfgenError: the connection is lost.
        """
        socket = self._socket.sock
        writers = [socket] if self._unsent else []
        patience = 0 if self._has_more else max(0.0, self._next_ping - time.monotonic())
        readable, writable, _ = select.select([socket, *files], writers, [], patience)
        if writable:
            self._flush()
        if time.monotonic() >= self._next_ping and socket not in readable:
            self._ping()
        return [file for file in files if file in readable]

    def receive(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of the stream, and the data, of each received message. Do not wait for messages."""
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
            raise TfgenError(f"{self._host}: the connection was lost ({error})") from error

    def _ping(self) -> None:
        self._unanswered += 1
        if self._unanswered > _PINGS:
            raise TfgenError(f"{self._host}: no answer in {_PINGS * _PING:.0f} s")
        self._queue(b"", websocket.ABNF.OPCODE_PING)
        self._next_ping = time.monotonic() + _PING
