"""Addresses on the loopback network, one for each cluster, so that clusters can use the same ports at the same time."""

from __future__ import annotations

import random
import socket
from types import TracebackType
from typing import Self

LOCK_PORT = 16400
"""The port that reserves an address: the process that listens here owns the address."""


def free_port() -> int:
    """Return a port that is free on every address, for a server that listens on all addresses.

    The port belongs to this process until the process ends: a bound socket that never listens reserves the port. A
    server with SO_REUSEADDR, as Go's servers have it, can still listen there. The kernel gives the port to no other
    process, not even for an outgoing connection.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("", 0))
    port = int(held.getsockname()[1])
    held.detach()  # stays open until the process ends
    return port


class LoopbackAddress:
    """An address of 127.0.0.0/8 for one cluster of this machine, from `__enter__` to `__exit__`.

    Linux answers on all of these addresses: https://man7.org/linux/man-pages/man7/ip.7.html.

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
