"""A git server on a loopback address: bare repositories over http, for controllers that clone and for pushes.

The server is `git http-backend` behind Python's http server: https://git-scm.com/docs/git-http-backend.
"""

from __future__ import annotations

import os
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

PORT = 16480
_CONFIG = ("-c", "safe.directory=*", "-c", "http.receivepack=true")


class GitServer:
    """A server of each NAME.git of a folder.

    Attributes:
        url: the URL of the folder.
    """

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder
        self.url = f"http://{address}:{PORT}"
        handler = type("Handler", (_Handler,), {"folder": folder})
        self._server = ThreadingHTTPServer((address, PORT), handler)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def repository(self, name: str) -> str:
        """Create an empty bare repository with the branch main, and return its URL."""
        path = self.folder / f"{name}.git"
        path.mkdir()  # fails if the folder exists, unlike git init
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", path], check=True)
        return f"{self.url}/{name}.git"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Handler of a request, which passes environment, input and output to a CGI program."""

    folder: Path
    protocol_version = "HTTP/1.0"  # the end of the connection ends the answer, so the length is not necessary

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write no log: a controller sends several requests a second."""

    def _serve(self) -> None:
        address = urlsplit(self.path)
        variables = {
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": address.path,
            "QUERY_STRING": address.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "HTTP_GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_USER": "test",
            "REMOTE_ADDR": self.client_address[0],
        }
        body = self._body()
        ended = subprocess.run(
            ["git", *_CONFIG, "http-backend"],
            env={**os.environ, **variables, "CONTENT_LENGTH": str(len(body))},
            input=body,
            capture_output=True,
            check=True,
        )
        head, _, content = ended.stdout.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode("ascii").split("\r\n")]
        status = next((value for name, value in fields if name == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for name, value in fields:
            if name != "Status":
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        return b"".join(parts)
