"""A server: a program that is started, waited for, and ended by its process id.

    with Process("etcd", ("etcd", "--data-dir", "data"), folder / "etcd.log", ready=lambda: answers(url)):
        ...

What it writes goes to its log file. A server that ends before it is ready, or never is, is a ServerError that shows
the end of that log. No server outlives the process that started it: it is ended when that process leaves the `with`,
when it exits, and by the kernel where it is killed.
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
"""Seconds within which a server must be ready. It is ready in a few; a machine at its limits takes longer."""

GRACE = 20.0
"""Seconds that a server has to end after SIGTERM, before it is killed."""

OWNED = ("setpriv", "--pdeathsig", "KILL", "sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"')
"""Runs a command that the kernel kills with the thread that started it: the one that is left where we are killed.

Where we were gone before the kernel was asked to, the command does not begin: its parent is not the first argument.
"""


class ServerError(Exception):
    """A server ended by itself, or was not ready in time."""

    def __init__(self, process: Process, what: str) -> None:
        super().__init__(f"{process.name} {what}\n$ {shlex.join(process.argv)}\n--- {process.log}\n{process.tail()}")


class Process:
    """Process of a server.

    Attributes:
        name: what messages call it.
        argv: the program and its arguments.
        log: the file that has its stdout and stderr; what was there before is kept.
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
        """Describes a server; nothing is started.

        Args:
            name: What messages call it.
            argv: The program and its arguments.
            log: The file for its output.
            ready: Whether it serves, asked several times a second.
            env: All variables that it gets; without, those of this process.
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
        """The process id.

        Raises:
            ProcessLookupError: Where it is not started.
        """
        if self._popen is None:
            raise ProcessLookupError(f"{self.name} is not started")
        return self._popen.pid

    def start(self) -> Self:
        """Starts it; `wait_until_ready` says when it serves."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._popen = subprocess.Popen(
                [*OWNED, str(os.getpid()), *self.argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._env,
                start_new_session=True,  # Ctrl-C is for us: we end the servers, in order
            )
        self._started = time.monotonic()
        atexit.register(self.stop)
        return self

    def wait_until_ready(self, patience: float = PATIENCE) -> Self:
        """Returns when it serves.

        Raises:
            ServerError: Where it ended, or took longer than `patience` seconds; it is stopped then.
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
            ServerError: Where it has not within `patience` seconds; it is stopped then.
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
        """Ends it, by SIGTERM and then SIGKILL, and waits for its end; nothing where it is ended already."""
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
        """Bytes of the machine's memory that it has now."""
        fields = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * resource.getpagesize()

    def tail(self, lines: int = 30) -> str:
        """The last lines of the log."""
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
    """Test whether a GET of the address gives a 2xx answer.

    Args:
        url: Of http or https.
        authority: The certificate that an https server's own is checked with.
    """
    context = ssl.create_default_context(cafile=authority) if authority else None
    try:
        with urllib.request.urlopen(url, timeout=5, context=context):
            return True
    except (OSError, http.client.HTTPException):  # of a server that is about to begin
        return False
