"""Lets one run at a time write to a volume: holds a lock on a file in it for as long as this process lives.

    run_lock.py FOLDER HELD

It runs beside a task, as a container that starts before it and ends after it. The task starts once the file HELD is
there. The lock is the kernel's (flock), so it goes with the process, however that ends, and with its node's lease on a
network file system. Only task 0 takes it: that is the one that saves checkpoints.
"""

import errno
import fcntl
import os
import signal
import sys
import time
from pathlib import Path
from typing import TextIO

FILE = ".tfgen-run-lock"
PAUSE = 1.0  # seconds between two tries
TAKEN = (errno.EAGAIN, errno.EACCES)


def say(text: str) -> None:
    """A line of the log, with the time."""
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime()) + text, flush=True)


def take(lock: TextIO, run: str) -> None:
    """Wait for the lock, and write the run's name into the file for whoever waits next."""
    told = ""
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError as error:
            if error.errno not in TAKEN:
                sys.exit(f"this volume knows no locks ({error.strerror}): leave out storage's `runs`, or use another")
        lock.seek(0)
        holder = lock.read() or "another run"
        if holder != told:
            say(f"waiting for {holder}, which writes to this volume")
            told = holder
        time.sleep(PAUSE)
    lock.seek(0)
    lock.truncate()
    lock.write(f"run {run}")
    lock.flush()


def main(folder: str, held: str) -> None:
    """Take the lock, say so, and keep it."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    with (Path(folder) / FILE).open("a+") as lock:
        if os.environ.get("TASK_INDEX", "0") == "0":
            take(lock, os.environ.get("TFGEN_RUN") or "without a name")
            say("locked")
        Path(held).touch()
        while True:
            signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
