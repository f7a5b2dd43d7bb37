"""Addresses on the loopback network, one a cluster, so that several have the same ports at the same time."""

from __future__ import annotations

import random
import socket
from types import TracebackType
from typing import Self

LOCK_PORT = 16400
"""Whoever listens here on an address owns it."""


def free_port() -> int:
    """A port that is free on every address, for a server that listens on all of them.

    It is this process's until it ends: a socket has it that never listens. A server that says SO_REUSEADDR, as Go's do,
    can listen there all the same, and nobody else is given the port, be it for a connection's near end.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("", 0))
    port = int(held.getsockname()[1])
    held.detach()  # open for as long as the process
    return port


class LoopbackAddress:
    """An address of 127.0.0.0/8 that no other cluster on this machine has, while it is entered.

    Linux answers on all of them: https://man7.org/linux/man-pages/man7/ip.7.html.

    with LoopbackAddress() as address:
        address.text                                                   -> "127.83.7.201"
    """

    def __init__(self) -> None:
        self.text = ""
        self._lock: socket.socket | None = None

    def __enter__(self) -> Self:
        for _ in range(100):
            candidate = f"127.{random.randint(64, 127)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
            lock = socket.socket()
            try:
                lock.bind((candidate, LOCK_PORT))
            except OSError:
                lock.close()
                continue
            self.text, self._lock = candidate, lock
            return self
        raise OSError(f"no address of 127.64.0.0/10 has port {LOCK_PORT} free")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._lock:
            self._lock.close()
