"""A machine within this machine: network, mounts and processes of its own, which end with it.

    with Namespaces() as machine:
        machine.connect(outside="10.99.0.1", inside="10.99.0.2")
        machine.run("ip", "address")
        Process("containerd", machine.command(["containerd"]), ...)

What a node does to the machine that it runs on, its bridges, rules of the packet filter, mounts, kernel settings and
left-over processes, it does in here, and the kernel undoes all of it at once when the first process of the namespaces
ends. Nothing is reached from it but the one address at the other end of its only cable: that of a bridge on this
machine, which stays until the namespaces are left.
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
"""The network interface that has this machine's address; at the other end of the cable it is eth0."""

_CABLE: Final = "tfgen-cable"

_PATIENCE = 120.0  # seconds
# A process whose parent has ended is this one's child, and ends unseen where its signal is ignored.
_FIRST_PROCESS: Final = "trap '' CHLD; exec sleep infinity"
# What programs write at a place of their own, and would leave behind there.
_OWN_FOLDERS: Final = ("/run", "/var/lib/cni", "/var/log/containers")


class Namespaces:
    """The namespaces, from `__enter__` to `__exit__`.

    Attributes:
        outside: this machine's address on the cable, once there is one.
        inside: the other end's.
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
            # Where this process is killed, the kernel kills unshare, and so all that is in here.
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
        """The command line that runs a program in here. It ends with the process that it is given to."""
        enter = ("nsenter", f"--target={self._first}", "--net", "--mount", "--pid")
        return (*enter, "--", "setpriv", "--pdeathsig=TERM", "--", *argv)

    def run(self, *argv: str | Path, stdin: str = "", timeout: float = 600) -> str:
        """Run a program in the namespaces and return its standard output. Raise a CommandError if the program fails."""
        return Command(self.command(argv), stdin=stdin).run(timeout=timeout)

    def connect(self, outside: str, inside: str, *, networks: Iterable[str] = ()) -> None:
        """Lays the cable between this machine and the one in here.

        Args:
            outside: The address of this end, the only one that is reached from there.
            inside: The address of the other end, of the same network of four addresses.
            networks: Those that are reached through it, such as "10.244.0.0/24".
        """
        self.outside, self.inside = outside, inside
        _remove_cable()  # of a process that was killed
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
        """The process id, as this machine counts, of the first process in there, once it is what it is to be."""
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
        """Ends all that runs in here. This machine keeps its address until the namespaces are left."""
        if self._first:
            os.kill(self._first, signal.SIGKILL)
        if self._unshare:
            self._unshare.kill()
            self._unshare.wait()
        self._unshare, self._first = None, 0


def _remove_cable() -> None:
    """Removes this machine's end, also where the kernel, which is in no hurry with the other one's, is about to."""
    for name in (_CABLE, BRIDGE):
        place = Path("/sys/class/net", name)
        end = time.monotonic() + _PATIENCE
        while place.exists() and time.monotonic() < end:
            subprocess.run(("ip", "link", "delete", name), check=False)
            time.sleep(0.02)
        if place.exists():
            raise RuntimeError(f"the network interface {name} stays (see the message above)")
