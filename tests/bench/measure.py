"""Time and memory of a command, measured for the whole process."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tfgen" / "bin"


class Cost(NamedTuple):
    """Cost of one run.

    Attributes:
        seconds: Elapsed time.
        memory: Maximum memory of the largest process, in MiB.
    """

    seconds: float
    memory: float


def measure(command: Sequence[str], folder: Path, cores: int | None = None, allowed: Collection[int] = (0,)) -> Cost:
    """Run a command in a folder that contains its caches, on some of the processor cores, or on all.

    Raises:
        SystemExit: The exit code of the command is not in `allowed`. The message contains the output.
    """
    # An installed tfgen has compiled Python modules.
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["XDG_CACHE_HOME"] = str(folder / ".cache")
    ours = sorted(os.sched_getaffinity(0))
    if cores is not None:
        os.sched_setaffinity(0, ours[:cores])  # the child process inherits the setting
    os.sync()  # A render of many files calls sync, which would also wait for earlier writes
    try:
        with tempfile.TemporaryFile() as output:
            began = time.perf_counter()
            child = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.perf_counter() - began
            child.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            said = output.read().decode(errors="replace")
    finally:
        os.sched_setaffinity(0, ours)
    if child.returncode not in allowed:
        sys.exit(f"$ {shlex.join(command)}\nended with code {child.returncode}, in {folder}:\n{said[-4000:]}")
    return Cost(seconds, usage.ru_maxrss / 1024)


def program(name: str) -> str:
    """Return the path of a program: in the folder of this Python, in the cache of `make tools`, or on PATH.

    Raises:
        SystemExit: The program does not exist.
    """
    places = (Path(sys.executable).parent, CACHE, None)
    paths = (shutil.which(name, path=place) for place in places)
    return next(filter(None, paths), None) or sys.exit(f"needs {name}: make tools")
