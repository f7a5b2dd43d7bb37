"""A TensorFlow cluster as local processes: one process for each task, with its own TF_CONFIG.

    with LocalCluster({"chief": ["a-0.a:2222"], "ps": ["b-0.a:2222"]}, ["python", "train.py"], folder) as cluster:
        assert cluster.wait("chief", timeout=60) == 0

Each host becomes 127.0.0.1 with a free port. The roles and numbers of tasks do not change.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

Cluster = Mapping[str, Sequence[str]]
"""Addresses (host:port) of the tasks of each role, in the order of their index: the cluster in TF_CONFIG."""

T = TypeVar("T")

EVALUATOR = "evaluator"
POLL_SECONDS = 0.1


def tf_config(cluster: Cluster, role: str, index: int) -> str:
    """Return the TF_CONFIG of a task. The cluster in the TF_CONFIG of other tasks does not contain the evaluator."""
    seen = {other: list(hosts) for other, hosts in cluster.items() if other != EVALUATOR or role == EVALUATOR}
    return json.dumps({"cluster": seen, "task": {"type": role, "index": index}})


def reserve_port() -> socket.socket:
    """Return a socket that reserves a free port of 127.0.0.1 as long as the socket is open.

    The socket never listens, so the socket accepts no connections. A server that also sets SO_REUSEPORT can listen on
    the port at the same time: gRPC in TensorFlow does so with TF_GRPC_REUSE_PORT.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    held.bind(("127.0.0.1", 0))
    return held


class LocalCluster:
    """The processes of one cluster. A `with` block starts all tasks, and its end stops running tasks with SIGTERM."""

    def __init__(
        self, cluster: Cluster, command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None
    ) -> None:
        """Create the cluster without starting the tasks.

        Args:
            cluster: The hosts of each role.
            command: The command of each task.
            folder: Folder for a log of each task, ROLE-INDEX.log, and for the temporary files of the tasks.
            env: Variables added to the environment of the tasks.
        """
        self._command = list(command)
        self._folder = folder
        temporary = folder / "tmp"
        temporary.mkdir(exist_ok=True)
        own = {
            "TF_GRPC_REUSE_PORT": "true",
            "CUDA_VISIBLE_DEVICES": "",
            "TMPDIR": str(temporary),
            "PYTHONFAULTHANDLER": "1",  # if TensorFlow crashes, the log shows the call
        }
        self._env = {**os.environ, **own, **(env or {})}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._awaited: set[str] = set()
        self._crashed = False
        self._ports = ExitStack()
        self.cluster = {
            role: ["{}:{}".format(*self._ports.enter_context(reserve_port()).getsockname()) for _ in hosts]
            for role, hosts in cluster.items()
        }

    def __enter__(self) -> Self:
        for role, hosts in self.cluster.items():
            for index in range(len(hosts)):
                self.start(role, index)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._ports.close()
        if error is not None:
            error.add_note(self.logs())

    def start(self, role: str, index: int = 0) -> None:
        """Start a task, or start the task again after its end. A new start appends to the log."""
        self._awaited.discard(f"{role}-{index}")
        env = {**self._env, "TF_CONFIG": tf_config(self.cluster, role, index)}
        with self._log_file(role, index).open("ab") as log:
            self._processes[f"{role}-{index}"] = subprocess.Popen(
                self._command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )

    def kill(self, role: str, index: int = 0) -> None:
        """Kill a task immediately and without a signal that the task can handle, like the loss of a node."""
        self._processes[f"{role}-{index}"].kill()
        self._processes[f"{role}-{index}"].wait()

    def terminate(self, role: str, index: int = 0) -> None:
        """Send SIGTERM to a task, as the kubelet does before a node drains."""
        self._processes[f"{role}-{index}"].terminate()

    def wait(self, role: str, index: int = 0, *, timeout: float) -> int:
        """Return the exit code of a task. Raise the errors of `_until`."""
        code = self._until(lambda: self._processes[f"{role}-{index}"].poll(), f"{role}-{index} has ended", timeout)
        self._awaited.add(f"{role}-{index}")
        return code

    def wait_for_all(self, *, timeout: float) -> dict[str, int]:
        """Return the exit code of every task when all tasks have ended, with or without an error.

        Raises:
            TimeoutError: A task still runs after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        while any(process.poll() is None for process in self._processes.values()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{timeout} s passed before all tasks had ended")
            time.sleep(POLL_SECONDS)
        return {name: process.wait() for name, process in self._processes.items()}

    def wait_for_line(self, pattern: str, role: str, index: int = 0, *, timeout: float) -> re.Match[str]:
        """Return the first match in the log of a task. Raise the errors of `_until`."""
        what = f"{role}-{index} has written {pattern!r}"
        return self._until(lambda: re.search(pattern, self.log(role, index)), what, timeout)

    def _until(self, poll: Callable[[], T | None], what: str, timeout: float) -> T:
        """Call `poll` until its result is not None, and return the result.

        Raises:
            TimeoutError: `timeout` seconds have passed.
            RuntimeError: A task has failed that the test did not kill, and whose end the test did not await.
        """
        deadline = time.monotonic() + timeout
        while True:
            self._restart_crashed_chief()
            # Read the exit codes before `poll`: the awaited task may fail, because its exit code is the result.
            codes = {name: process.poll() for name, process in self._processes.items()}
            if (result := poll()) is not None:
                return result
            failed = [name for name, code in codes.items() if code not in (None, 0, -signal.SIGKILL)]
            if failed := [name for name in failed if name not in self._awaited]:
                raise RuntimeError(f"{', '.join(failed)} failed before {what}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{timeout} s passed before {what}")
            time.sleep(POLL_SECONDS)

    def _restart_crashed_chief(self) -> None:
        """Restart a chief once, as its Job would, after TensorFlow's native code crashed.

        On a busy machine, TensorFlow 2.21 crashed in one of some hundred starts, at the first steps of its workers.
        """
        chief = self._processes.get("chief-0")
        if chief and not self._crashed and chief.poll() == -signal.SIGSEGV:
            self._crashed = True
            self.start("chief")

    def stop(self, timeout: float = 60) -> dict[str, int]:
        """Stop the running tasks with SIGTERM, and after `timeout` seconds with SIGKILL. Return their exit codes."""
        running = {name: process for name, process in self._processes.items() if process.poll() is None}
        for process in running.values():
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + timeout
        for process in running.values():
            try:
                process.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
        return {name: process.wait() for name, process in running.items()}

    def log(self, role: str, index: int = 0) -> str:
        """Return the output of a task from all its starts."""
        return self._log_file(role, index).read_text(errors="replace")

    def logs(self) -> str:
        """Return the end of the log of every task, with the name and exit code of the task."""
        parts = []
        for name, process in self._processes.items():
            tail = (self._folder / f"{name}.log").read_text(errors="replace").splitlines()[-40:]
            parts.append("\n".join([f"--- {name} (exit code {process.poll()})", *tail]))
        return "\n".join(parts)

    def _log_file(self, role: str, index: int) -> Path:
        return self._folder / f"{role}-{index}.log"
