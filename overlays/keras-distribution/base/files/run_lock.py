"""Lock a volume, so that only a single run writes to the volume at a time. The lock lasts until this process ends.

    run_lock.py FOLDER MARKER

The program runs in a sidecar, which starts before the task and ends after the task. The task starts when the file
MARKER exists. The lock is a file lock of the kernel (flock), so the lock ends with the process, or with the node's
lease on a network file system. Only task 0 takes the lock, because only task 0 saves checkpoints.
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
    """Print a line of the log with the current time."""
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime()) + text, flush=True)


def take(lock: TextIO, run: str) -> None:
    """Wait for the lock, and write the name of the run into the file for the next run that waits."""
    printed_holder = ""
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError as error:
            if error.errno not in TAKEN:
                sys.exit(
                    f"the volume supports no locks ({error.strerror}): omit `runs` in storage, or use another volume"
                )
        lock.seek(0)
        holder = lock.read() or "another run"
        if holder != printed_holder:
            say(f"waiting for {holder}, which writes to this volume")
            printed_holder = holder
        time.sleep(PAUSE)
    lock.seek(0)
    lock.truncate()
    lock.write(f"run {run}")
    lock.flush()


def main(folder: str, marker: str) -> None:
    """Take the lock, create the marker, and hold the lock until the process ends."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    with (Path(folder) / FILE).open("a+") as lock:
        if os.environ.get("TASK_INDEX", "0") == "0":
            take(lock, os.environ.get("TFGEN_RUN") or "without a name")
            say("locked")
        Path(marker).touch()
        while True:
            signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
