"""A machine within this machine: separate network, mounts and processes, which end together.

    with Namespaces() as machine:
        machine.connect(Slot(0))
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

from tests.e2e.slot import Slot
from tests.support.command import Command

_PATIENCE = 120.0  # seconds
# The first process adopts the processes whose parent has ended. With CHLD ignored, the kernel reaps them.
_FIRST_PROCESS: Final = "trap '' CHLD; exec sleep infinity"
# Programs write to these folders, and would leave files on this machine. The empty folders stay on this machine: the
# removal of a folder would unmount the folder in the namespaces of a second node.
_PRIVATE_FOLDERS: Final = ("/run", "/var/lib/cni", "/var/log/containers")


class Namespaces:
    """The namespaces, from `__enter__` to `__exit__`.

    Attributes:
        inside: the address of the namespaces on the cable, after `connect`.
    """

    inside: str

    def __init__(self) -> None:
        self._unshare: subprocess.Popen[bytes] | None = None
        self._first = 0
        self._slot: Slot | None = None

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
            for folder in map(Path, _PRIVATE_FOLDERS):
                folder.mkdir(exist_ok=True)
                self.run("mount", "-t", "tmpfs", "tfgen", folder)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()
        if self._slot:
            _remove_cable(self._slot)

    def command(self, argv: Iterable[str | Path]) -> tuple[str | Path, ...]:
        """Return the command line of a program in the namespaces. The program ends with the process that starts it."""
        enter = ("nsenter", f"--target={self._first}", "--net", "--mount", "--pid")
        return (*enter, "--", "setpriv", "--pdeathsig=TERM", "--", *argv)

    def run(self, *argv: str | Path, stdin: str = "", timeout: float = 600) -> str:
        """Run a program in the namespaces and return its standard output. Raise a CommandError if the program fails."""
        return Command(self.command(argv), stdin=stdin).run(timeout=timeout)

    def connect(self, slot: Slot) -> None:
        """Connect this machine and the namespaces by a virtual cable. The pods and Services are behind the cable.

        The namespaces reach only one address of this machine: `slot.outside`.
        """
        _remove_cable(slot)  # a killed process may have left the cable
        self._slot, self.inside = slot, slot.inside
        cable = _cable(slot)
        for outer in (
            f"link add {slot.name} type bridge",
            f"address add {slot.outside}/30 dev {slot.name}",
            f"link set {slot.name} up",
            f"link add {cable} type veth peer name eth0 netns {self._first}",
            f"link set {cable} master {slot.name} up",
        ):
            Command(("ip", *outer.split())).run()
        for inner in (f"address add {slot.inside}/30 dev eth0", "link set eth0 up"):
            self.run("ip", *inner.split())
        for network in (slot.pods, slot.services):
            Command(("ip", "route", "add", network, "via", slot.inside, "dev", slot.name)).run()

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


def _cable(slot: Slot) -> str:
    """Return the name of this machine's end of the cable. The interface at the other end is eth0."""
    return f"tfgen-cable-{slot.number}"


def _remove_cable(slot: Slot) -> None:
    """Remove this machine's end of the cable, even if the kernel is still removing the other end."""
    for name in (_cable(slot), slot.name):
        place = Path("/sys/class/net", name)
        end = time.monotonic() + _PATIENCE
        while place.exists() and time.monotonic() < end:
            subprocess.run(("ip", "link", "delete", name), check=False)
            time.sleep(0.02)
        if place.exists():
            raise RuntimeError(f"the network interface {name} stays (see the message above)")
