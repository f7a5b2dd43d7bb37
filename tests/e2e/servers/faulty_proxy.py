"""A proxy before an API server that fails on demand, like a busy or unreachable server.

    with FaultyProxy(cluster.url, cluster.authority.certificate, cluster.address) as proxy:
        proxy.fail(429, times=2, headers={"Retry-After": "1"})
        proxy.hang()                        # accepts requests, and answers none
        proxy.refuse()                      # closes each connection, also open ones
        proxy.work()

The proxy speaks plain HTTP, and forwards requests with their credentials. A request that hung never gets an answer.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

_HOP_BY_HOP = ("connection", "content-length", "transfer-encoding")
_TICK = 0.05


class FaultyProxy(ThreadingHTTPServer):
    """The proxy, from `__enter__` to `__exit__`.

    Attributes:
        requests: the paths of the received requests.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, server: str, authority: Path, address: str) -> None:
        """Describe the proxy.

        Args:
            server: The URL of the API server.
            authority: The certificate that verifies the server's own.
            address: The address where the proxy listens.
        """
        super().__init__((address, 0), _Handler)
        self.target = server.removeprefix("https://")
        self.context = ssl.create_default_context(cafile=str(authority))
        self.requests: list[str] = []
        self.mode = "work"
        self._answer: tuple[int, int, Mapping[str, str], str, bytes] = (0, 0, {}, "", b"")
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": _TICK}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.refuse()
        self.shutdown()
        self.server_close()

    @property
    def url(self) -> str:
        """Address of the proxy."""
        return "http://{}:{}".format(*self.server_address[:2])

    def fail(
        self, status: int, *, times: int, headers: Mapping[str, str] | None = None, path: str = "", body: bytes = b""
    ) -> None:
        """Answer the next requests with this response, if their path matches the pattern `path`."""
        self._answer = (status, times, headers or {}, path, body)

    def hang(self) -> None:
        """Answer no request from now on."""
        self.mode = "hang"

    def refuse(self) -> None:
        """Close all connections, and each new connection."""
        self.mode = "refuse"
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def work(self) -> None:
        """Forward requests."""
        self.mode = "work"

    def taken_answer(self, path: str) -> tuple[int, Mapping[str, str], bytes] | None:
        """Return the prepared response to a request, or None if the proxy must forward the request."""
        with self._lock:
            status, times, headers, pattern, body = self._answer
            if not times or not re.search(pattern, path):
                return None
            self._answer = (status, times - 1, headers, pattern, body)
            return status, headers, body

    def get_request(self) -> tuple[socket.socket, object]:
        connection, address = super().get_request()
        with self._lock:
            self._connections.add(connection)
        return connection, address

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore an error: a test closes connections on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def do_GET(self) -> None:
        proxy = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        proxy.requests.append(self.path)
        if proxy.mode == "refuse":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        while proxy.mode == "hang":
            time.sleep(_TICK)
            self.close_connection = True
        if self.close_connection:
            time.sleep(3600)  # never answer a request that hung
        answer = proxy.taken_answer(self.path)
        if answer:
            status, headers, body = answer
            self.send_response(status)
            for key, value in ({"Content-Length": str(len(body))} | dict(headers)).items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)
            return
        self._pass_on(body)

    do_PATCH = do_POST = do_DELETE = do_PUT = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write no log."""

    def _pass_on(self, body: bytes) -> None:
        server = http.client.HTTPSConnection(self.server.target, context=self.server.context)
        try:
            headers = {key: value for key, value in self.headers.items() if key.lower() not in (*_HOP_BY_HOP, "host")}
            server.request(self.command, self.path, body or None, headers)
            response = server.getresponse()
            self.send_response(response.status)
            for key, value in response.getheaders():
                if key.lower() not in _HOP_BY_HOP:
                    self.send_header(key, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while part := response.read1():
                if self.server.mode == "hang":
                    time.sleep(3600)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        finally:
            server.close()
