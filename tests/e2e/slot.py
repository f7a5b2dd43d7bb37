"""The names and addresses of a real node. Two nodes can run on a machine at the same time, each in its own slot."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SLOTS: Final = 2


@dataclass(frozen=True)
class Slot:
    """The names and addresses of one node.

    Attributes:
        number: the number of the slot, from 0 to SLOTS - 1.
    """

    number: int

    @property
    def outside(self) -> str:
        """Return the address of this machine on the cable to the node."""
        return f"10.99.{self.number}.1"

    @property
    def inside(self) -> str:
        """Return the address of the node on the cable."""
        return f"10.99.{self.number}.2"

    @property
    def cable(self) -> str:
        """Return the network of both ends of the cable."""
        return f"10.99.{self.number}.0/30"

    @property
    def pods(self) -> str:
        """Return the network of the pods."""
        return f"10.244.{self.number}.0/24"

    @property
    def services(self) -> str:
        """Return the network of the Services."""
        return f"10.{96 + self.number}.0.0/16"

    @property
    def dns(self) -> str:
        """Return the address of the Service of CoreDNS, in the /etc/resolv.conf of every pod."""
        return f"10.{96 + self.number}.0.10"

    @property
    def name(self) -> str:
        """Return the name of the network bridge and of the control group: tfgen-node-0."""
        return f"tfgen-node-{self.number}"

    def store(self, folder: Path) -> Path:
        """Return the folder of containerd's images and containers."""
        return folder / f"containerd-{self.number}"


@contextmanager
def free_slot(folder: Path) -> Iterator[Slot]:
    """Wait for a free slot, and occupy the slot during the block.

    Args:
        folder: The folder of the lock files of all slots.
    """
    while True:
        for slot in map(Slot, range(SLOTS)):
            with (folder / f"lock-{slot.number}").open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield slot
                return
        time.sleep(0.5)
