"""A machine within this machine: separate network, mounts and processes, which end together.

    with Namespaces() as machine:
        machine.connect(outside="10.99.0.1", inside="10.99.0.2")
        machine.run("ip", "address")
        Process("containerd", machine.command(["containerd"]), ...)

A node changes the machine that it runs on: bridges, rules of the packet filter, mounts, kernel settings and left-over
processes. In the namespaces, the kernel undoes all changes at once when the first process of the namespaces ends. The
processes inside reach only one address: the address of a bridge on this machine, at the other end of a virtual cable.
The bridge exists until `__exit__`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.support.command import Command

BRIDGE: Final = "tfgen-node"
"""The network interface with this machine's address. The interface at the other end of the cable is eth0."""

_CABLE: Final = "tfgen-cable"

_PATIENCE = 120.0  # seconds
# The first process adopts the processes whose parent has ended. With CHLD ignored, the kernel reaps them.
_FIRST_PROCESS: Final = "trap '' CHLD; exec sleep infinity"
# Programs write to these folders, and would leave files there on this machine.
_OWN_FOLDERS: Final = ("/run", "/var/lib/cni", "/var/log/containers")


class Namespaces:
    """The namespaces, from `__enter__` to `__exit__`.

    Attributes:
        outside: this machine's address on the cable, after `connect`.
        inside: the address at the other end, after `connect`.
    """

    outside: str
    inside: str

    def __init__(self) -> None:
        self._unshare: subprocess.Popen[bytes] | None = None
        self._first = 0
        self._connected = False
        self._made: list[Path] = []

    def __enter__(self) -> Self:
        kinds = ("--net", "--mount", "--pid", "--fork", "--mount-proc", "--propagation=private", "--kill-child")
        self._unshare = subprocess.Popen(
            # If this process is killed, the kernel kills unshare, and thereby all processes of the namespaces.
            ("setpriv", "--pdeathsig=KILL", "--", "unshare", *kinds, "--", "sh", "-c", _FIRST_PROCESS),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            self._first = self._first_process()
            self.run("ip", "link", "set", "lo", "up")
            for folder in map(Path, _OWN_FOLDERS):
                if not folder.exists():
                    folder.mkdir()
                    self._made.append(folder)
                self.run("mount", "-t", "tmpfs", "tfgen", folder)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()
        if self._connected:
            _remove_cable()
        while self._made:
            self._made.pop().rmdir()

    def command(self, argv: Iterable[str | Path]) -> tuple[str | Path, ...]:
        """Return the command line of a program in the namespaces. The program ends with the process that starts it."""
        enter = ("nsenter", f"--target={self._first}", "--net", "--mount", "--pid")
        return (*enter, "--", "setpriv", "--pdeathsig=TERM", "--", *argv)

    def run(self, *argv: str | Path, stdin: str = "", timeout: float = 600) -> str:
        """Run a program in the namespaces and return its standard output. Raise a CommandError if the program fails."""
        return Command(self.command(argv), stdin=stdin).run(timeout=timeout)

    def connect(self, outside: str, inside: str, *, networks: Iterable[str] = ()) -> None:
        """Connect this machine and the namespaces by a virtual cable.

        Args:
            outside: The address of this end, the only address that the namespaces reach.
            inside: The address of the other end, in the same network of four addresses.
            networks: The networks behind the cable, such as "10.244.0.0/24".
        """
        self.outside, self.inside = outside, inside
        _remove_cable()  # a killed process may have left it
        self._connected = True
        for outer in (
            f"link add {BRIDGE} type bridge",
            f"address add {outside}/30 dev {BRIDGE}",
            f"link set {BRIDGE} up",
            f"link add {_CABLE} type veth peer name eth0 netns {self._first}",
            f"link set {_CABLE} master {BRIDGE} up",
        ):
            Command(("ip", *outer.split())).run()
        for inner in (f"address add {inside}/30 dev eth0", "link set eth0 up"):
            self.run("ip", *inner.split())
        for network in networks:
            Command(("ip", "route", "add", network, "via", inside, "dev", BRIDGE)).run()

    def _first_process(self) -> int:
        """Wait for the first process of the namespaces to run `sleep`, and return its process id on this machine."""
        unshare = self._unshare
        if unshare is None:
            raise ProcessLookupError("the namespaces have not been entered")
        children = Path(f"/proc/{unshare.pid}/task/{unshare.pid}/children")
        end = time.monotonic() + _PATIENCE
        while unshare.poll() is None and time.monotonic() < end:
            for child in children.read_text(encoding="ascii").split():
                if Path(f"/proc/{child}/comm").read_text(encoding="ascii").strip() == "sleep":
                    return int(child)
            time.sleep(0.02)
        raise RuntimeError("unshare made no namespaces: this needs root (see its message above)")

    def end(self) -> None:
        """End all processes of the namespaces. This machine keeps its address until `__exit__`."""
        if self._first:
            os.kill(self._first, signal.SIGKILL)
        if self._unshare:
            self._unshare.kill()
            self._unshare.wait()
        self._unshare, self._first = None, 0


def _remove_cable() -> None:
    """Remove this machine's end of the cable, even if the kernel is still removing the other end."""
    for name in (_CABLE, BRIDGE):
        place = Path("/sys/class/net", name)
        end = time.monotonic() + _PATIENCE
        while place.exists() and time.monotonic() < end:
            subprocess.run(("ip", "link", "delete", name), check=False)
            time.sleep(0.02)
        if place.exists():
            raise RuntimeError(f"the network interface {name} stays (see the message above)")
