"""Supervises the tasks of a local run, and ends all their processes. This separate program needs no packages.

    supervisor.py <commands >events

The supervisor reads commands from standard input and writes events to standard output, one JSON object on each line:

    {"start": "ps-0", "command": [...], "variables": {...}, "folder": "/x", "log": "/x/ps-0.log"}
    {"signal": "ps-0", "number": 15}
    {"task": "ps-0", "pid": 4711}
    {"task": "ps-0", "code": -15}

The run ends when the input ends, for example because the process that writes the commands was killed. Every process
that the supervisor or a task started then receives SIGTERM, and SIGKILL after `GRACE` seconds.

On Linux no process can escape. The supervisor becomes the parent of each process whose parent has ended
(PR_SET_CHILD_SUBREAPER, https://man7.org/linux/man-pages/man2/prctl.2.html). If the supervisor is killed, Linux kills
the tasks as well (PR_SET_PDEATHSIG). On other systems, the signals reach the process groups of the tasks.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

GRACE = 5.0
"""Seconds from SIGTERM to SIGKILL at the end of the run."""

_IS_LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None) if _IS_LINUX else None


class Supervisor:
    """The program that starts and ends the processes of the tasks."""

    def __init__(self) -> None:
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._tail = b""

    def run(self) -> None:
        """Execute commands until the standard input ends. Then end all processes."""
        # SIGCHLD must interrupt the wait for input, so the numbers of signals arrive through this pipe.
        ended, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(ended, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            readable, _, _ = select.select([sys.stdin, ended], [], [])
            if ended in readable:
                with contextlib.suppress(BlockingIOError):
                    os.read(ended, 4096)
                self._reap()
            if sys.stdin in readable and not self._obey():
                break
        self._end_all()

    def _obey(self) -> bool:
        """Execute the available commands from standard input. Return False if the input has ended."""
        data = os.read(0, 1 << 20)
        *lines, self._tail = (self._tail + data).split(b"\n")
        for line in lines:
            command = json.loads(line)
            if "start" in command:
                self._start(command["start"], command)
            else:
                self._signal(command["signal"], command["number"])
        return bool(data)

    def _start(self, name: str, command: dict[str, Any]) -> None:
        try:
            with Path(command["log"]).open("ab") as log:
                process = subprocess.Popen(  # noqa: S603 - what the job says
                    command["command"],
                    env=command["variables"],
                    cwd=command["folder"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=_die_with_parent if _IS_LINUX else None,
                )
        except OSError as error:
            _tell({"task": name, "error": f"{error.filename}: {error.strerror}"})
            return
        self._processes[name] = process
        _tell({"task": name, "pid": process.pid})

    def _signal(self, name: str, number: int) -> None:
        """Send a signal to the first process of a task, as a container runtime does.

        SIGKILL ends the other processes of the task as well.
        """
        process = self._processes.get(name)
        if process is None:
            return
        if number == signal.SIGKILL:
            _kill_group(process.pid)
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)

    def _reap(self) -> None:
        """Report the tasks that have ended. Also reap ended orphan processes, whose parent is now the supervisor."""
        names = {process.pid: name for name, process in self._processes.items()}
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            name = names.get(ended.si_pid)
            if name is not None:
                _kill_group(ended.si_pid)  # as in a container, all processes of the task end with the first process
            _, status = os.waitpid(ended.si_pid, 0)
            if name is not None:
                code = os.waitstatus_to_exitcode(status)
                self._processes.pop(name).returncode = code
                _tell({"task": name, "code": code})

    def _end_all(self) -> None:
        deadline = time.monotonic() + GRACE
        self._send_all(signal.SIGTERM)
        while self._descendants() and time.monotonic() < deadline:
            time.sleep(0.02)
            self._reap()
        while self._descendants():  # repeatedly, because a process may start another one meanwhile
            self._send_all(signal.SIGKILL)
            time.sleep(0.02)
            self._reap()

    def _send_all(self, number: int) -> None:
        for pid in self._descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                (os.kill if _IS_LINUX else os.killpg)(pid, number)

    def _descendants(self) -> list[int]:
        """Return the ids of the running child processes of the supervisor.

        On Linux, also return the ids of all processes that these processes have started, directly or indirectly.
        """
        if not _IS_LINUX:
            return [process.pid for process in self._processes.values()]
        parents = dict(_parents())
        descendants = {os.getpid()}
        while children := {pid for pid, parent in parents.items() if parent in descendants} - descendants:
            descendants |= children
        return sorted(descendants - {os.getpid()})


def _parents() -> "list[tuple[int, int]]":
    """Return the id of each process, with the id of its parent process. The source is /proc/*/stat.

    The name of a process may contain brackets. So the parser splits each file at the last bracket, which follows the
    name.
    """
    pairs = []
    for entry in os.listdir("/proc"):  # noqa: PTH208 - names alone
        if entry.isdecimal():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{entry}/stat").read_bytes().rpartition(b")")[2].split()
                pairs.append((int(entry), int(fields[1])))
    return pairs


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _die_with_parent() -> None:
    assert _LIBC is not None  # noqa: S101
    _LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _tell(event: "dict[str, Any]") -> None:
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()


def main() -> None:
    """Supervise the tasks until the input ends.

    The handlers of SIGINT, SIGHUP and SIGTERM do nothing, so that these signals do not end the supervisor. With
    `SIG_IGN` in place of a handler, each task would inherit `SIG_IGN` and ignore the signals as well.
    """
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    if _LIBC is not None:
        _LIBC.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    Supervisor().run()


if __name__ == "__main__":
    main()
