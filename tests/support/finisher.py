"""The finisher as a process, with a scripted API server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.api_server import PATIENCE, ApiServer
from tfgen.graph import programs

PROGRAM = Path(programs.__file__).with_name("finisher.py")


CHIEF, EVALUATOR = "jobs/mnist-chief", "jobs/mnist-evaluator"


PS, WORKER = "statefulsets/mnist-ps", "statefulsets/mnist-worker"


RUNNING = {"status": {"active": 1, "ready": 1}}


# Run the program with other constants, and with a clock that is faster by the factor of the first argument. Connections
# use the real clock, and check certificates as strictly as Python 3.13.
LAUNCH = """\
import importlib.util, json, pathlib, ssl, sys, time, types

faster, constants, path, *arguments = float(sys.argv[1]), *sys.argv[2:]
spec = importlib.util.spec_from_file_location("finisher", path)
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
for name, value in json.loads(constants).items():
    setattr(program, name, type(getattr(program, name))(value))
program.time = types.SimpleNamespace(**vars(time))
began = time.time()
program.time.sleep = lambda seconds: time.sleep(seconds / faster)
program.time.monotonic = lambda: time.monotonic() * faster
program.time.time = lambda: began + (time.time() - began) * faster
lax = ssl.create_default_context
def strict(**options):
    context = lax(**options)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context
ssl.create_default_context = strict
sys.argv = [path, *arguments]
program.main()
"""


class Finisher:
    """A process that runs the finisher. By default, the process does not repeat the release."""

    def __init__(
        self, server: ApiServer, log: Path, *args: str, faster: int = 50, address: str | None = None, **constants: int
    ) -> None:
        self._log = log
        launch = ["-c", LAUNCH, str(faster), json.dumps({"ACCOUNT": str(server.account), "AGAIN": 0, **constants})]
        # The finisher must ignore the proxy for the API server of the cluster.
        environment = {**server.environment, "HTTPS_PROXY": "http://127.0.0.1:9", "PATH": os.environ["PATH"]}
        environment |= {} if address is None else {"NOTIFY_ADDRESS": address}
        with log.open("wb") as file:
            command = [sys.executable, "-I", "-u", *launch, PROGRAM, *args]
            self._process = subprocess.Popen(command, env=environment, stdout=file, stderr=subprocess.STDOUT)

    def __enter__(self) -> Finisher:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        """Wait for the end of the process and return its exit code."""
        return self._process.wait(PATIENCE)

    def terminate(self) -> None:
        """End the process with SIGTERM, as Kubernetes does."""
        self._process.send_signal(signal.SIGTERM)

    @property
    def log(self) -> Sequence[str]:
        """Return the lines of the log without their times and without the length of a pause, which is random."""
        lines = self._log.read_text().splitlines()
        times = [line[:20] for line in lines]
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", at) for at in times), lines
        return [re.sub(r"again in [0-9.]+ s$", "again", line[21:]) for line in lines]

    def wait_for_log(self, text: str) -> None:
        """Wait until the log contains a text."""
        deadline = time.monotonic() + PATIENCE
        while text not in self._log.read_text():
            assert time.monotonic() < deadline, f"{text!r} is not in the log:\n{self._log.read_text()}"
            time.sleep(0.01)


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """Start a server with a running chief, two StatefulSets and a running evaluator."""
    with ApiServer() as server:
        fill(server)
        yield server


def wait_for_replicas(server: ApiServer, path: str, number: int) -> None:
    """Wait until a StatefulSet or Deployment has this number of replicas."""
    deadline = time.monotonic() + PATIENCE
    while server.get(path)["spec"]["replicas"] != number:
        assert time.monotonic() < deadline, f"{path} does not have {number} replicas"
        time.sleep(0.01)


def fill(server: ApiServer) -> None:
    server.put(PS, {"spec": {"replicas": 2}})
    server.put(WORKER, {"spec": {"replicas": 4}})
    server.put(EVALUATOR, RUNNING)
    server.put(CHIEF, RUNNING)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"
