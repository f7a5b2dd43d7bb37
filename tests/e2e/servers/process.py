"""A server: a program that the test starts, awaits and ends by its process id.

    with Process("etcd", ("etcd", "--data-dir", "data"), folder / "etcd.log", ready=lambda: answers(url)):
        ...

The log file receives the output of the server. A server that ends early, or is not ready in time, raises a ServerError
with the end of the log. No server outlives the process that started it: the server ends when that process leaves the
`with` or exits, and the kernel ends the server when that process is killed.
"""

from __future__ import annotations

import atexit
import http.client
import os
import resource
import shlex
import socket
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.timings.plugin import record_start

PATIENCE = 600.0
"""The number of seconds within which a server must be ready. A few are enough, except on a busy machine."""

GRACE = 20.0
"""The number of seconds that a server has to end after SIGTERM, before SIGKILL."""

RARE_COLLECTION = {"GOGC": "400", "GOMEMLIMIT": "1GiB"}
"""Variables that make a Go server collect garbage less often: https://go.dev/doc/gc-guide#GOGC.

The API server then needs a quarter less processor time, and up to 200 MB more memory.
"""

OWNED = ("setpriv", "--pdeathsig", "KILL", "sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"')
"""A command prefix: the kernel kills the command when the thread that started it ends, so that no process stays.

If the parent ended before `setpriv` registered the signal, the command does not start: PPID differs from the first
argument.
"""


class ServerError(Exception):
    """A server ended by itself, or was not ready in time."""

    def __init__(self, process: Process, what: str) -> None:
        super().__init__(f"{process.name} {what}\n$ {shlex.join(process.argv)}\n--- {process.log}\n{process.tail()}")


class Process:
    """Process of a server.

    Attributes:
        name: its name in messages.
        argv: the program and its arguments.
        log: the file that receives its stdout and stderr, after the existing content.
    """

    def __init__(
        self,
        name: str,
        argv: Iterable[str | Path],
        log: Path,
        *,
        ready: Callable[[], bool],
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Describe a server, without starting the server.

        Args:
            name: Its name in messages.
            argv: The program and its arguments.
            log: The file for its output.
            ready: Returns whether the server is ready. The calls are several times a second.
            env: All variables of the server, besides RARE_COLLECTION. By default, the variables of this process.
        """
        self.name = name
        self.argv = [str(word) for word in argv]
        self.log = log
        self._is_ready = ready
        self._env = env
        self._popen: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    @property
    def pid(self) -> int:
        """Return the process id.

        Raises:
            ProcessLookupError: The server is not started.
        """
        if self._popen is None:
            raise ProcessLookupError(f"{self.name} is not started")
        return self._popen.pid

    @property
    def has_ended(self) -> bool:
        """True if the started process has ended by itself."""
        return self._popen is not None and self._popen.poll() is not None

    def start(self) -> Self:
        """Start the server, without waiting until it is ready."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._popen = subprocess.Popen(
                [*OWNED, str(os.getpid()), *self.argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**RARE_COLLECTION, **(os.environ if self._env is None else self._env)},
                start_new_session=True,  # Ctrl-C reaches only this process, which ends the servers in order
            )
        self._started = time.monotonic()
        atexit.register(self.stop)
        return self

    def wait_until_ready(self, patience: float = PATIENCE) -> Self:
        """Return when the server is ready.

        Raises:
            ServerError: The server ended, or was not ready within `patience` seconds. The server is stopped.
        """
        end = time.monotonic() + patience
        while not self._ready():
            if time.monotonic() > end:
                self._fail(f"was not ready within {patience:.0f} s")
            time.sleep(0.05)
        record_start(self.name, time.monotonic() - self._started)
        return self

    def wait(self, patience: float = PATIENCE) -> int:
        """Wait for the end of the process and return its exit code.

        Raises:
            ServerError: The server did not end within `patience` seconds. The server is stopped.
        """
        assert self._popen, f"{self.name} is not started"
        try:
            code = self._popen.wait(patience)
        except subprocess.TimeoutExpired:
            self._fail(f"did not end within {patience:.0f} s")
            raise
        self.stop()
        return code

    def stop(self) -> None:
        """End the server by SIGTERM and then SIGKILL, and wait for its end. Ignore a server that has already ended."""
        atexit.unregister(self.stop)
        if self._popen is None:
            return
        self._popen.terminate()
        try:
            self._popen.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._popen = None

    def memory(self) -> int:
        """Return the number of bytes of memory that the server uses now."""
        fields = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * resource.getpagesize()

    def tail(self, lines: int = 30) -> str:
        """Return the last lines of the log."""
        if not self.log.exists():
            return "(no log)"
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def __enter__(self) -> Self:
        return self.start().wait_until_ready()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _ready(self) -> bool:
        code = self._popen.poll() if self._popen else None
        if self._popen is None or code is not None:
            self._fail("is not started" if code is None else f"ended with code {code} before it was ready")
        return self._is_ready()

    def _fail(self, what: str) -> None:
        error = ServerError(self, what)
        self.stop()
        raise error


def listens(address: str, port: int) -> bool:
    """Test whether the address accepts connections."""
    try:
        socket.create_connection((address, port), timeout=5).close()
    except OSError:
        return False
    return True


def answers(url: str, authority: Path | None = None) -> bool:
    """Test whether a GET request gets a 2xx response.

    Args:
        url: The http or https URL.
        authority: The certificate that verifies the certificate of an https server.
    """
    context = ssl.create_default_context(cafile=authority) if authority else None
    try:
        with urllib.request.urlopen(url, timeout=5, context=context):
            return True
    except (OSError, http.client.HTTPException):  # the server is starting
        return False
