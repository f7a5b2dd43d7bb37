"""A real training of examples/tf1-flags: a parameter server and two workers as local processes, configured by flags."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.local_cluster import reserve_port

PROGRAM = Path(__file__).parents[2] / "examples" / "tf1-flags" / "train.py"
STEPS = 1500
TIMEOUT = 600


def wait_for_line(pattern: str, log: Path, process: subprocess.Popen[bytes]) -> re.Match[str]:
    """Return the first match in a running task's log; fail if the task ends or `TIMEOUT` passes before."""
    deadline = time.monotonic() + TIMEOUT
    while not (match := re.search(pattern, log.read_text())):
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
    return match


def test_trains_and_a_late_worker_joins(tf: ModuleType, tmp_path: Path) -> None:
    with ExitStack() as stack:
        ps, *workers = ("{}:{}".format(*stack.enter_context(reserve_port()).getsockname()) for _ in range(3))
        hosts = [f"--ps_hosts={ps}", f"--worker_hosts={','.join(workers)}"]
        env = {
            **os.environ,
            "MODEL_DIR": str(tmp_path / "model"),
            "TF_GRPC_REUSE_PORT": "true",
            "CUDA_VISIBLE_DEVICES": "",
        }
        env.pop("TF_CONFIG", None)

        def start(role: str, index: int) -> tuple[subprocess.Popen[bytes], Path]:
            path = tmp_path / f"{role}-{index}.log"
            task = [f"--job_name={role}", f"--task_index={index}", *hosts, f"--steps={STEPS}", "--learning_rate=0.01"]
            log = stack.enter_context(path.open("wb"))
            process = subprocess.Popen([sys.executable, str(PROGRAM), *task], env=env, stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process, path

        server, server_log = start("ps", 0)
        worker0, log0 = start("worker", 0)
        first = float(wait_for_line(r"step 1: loss ([\d.]+)", log0, worker0)[1])
        # Worker 0 is paused until the late worker trains: the late worker needs only the ps.
        worker0.send_signal(signal.SIGSTOP)
        worker1, log1 = start("worker", 1)
        wait_for_line(r"step \d+: loss", log1, worker1)
        worker0.send_signal(signal.SIGCONT)
        assert worker0.wait(TIMEOUT) == 0, log0.read_text()
        assert worker1.wait(TIMEOUT) == 0, log1.read_text()

        done0, done1 = (
            re.search(r"done: step (\d+), (\d+) of them here, loss ([\d.]+)", log.read_text()) for log in (log0, log1)
        )
        assert max(int(done0[1]), int(done1[1])) >= STEPS
        assert int(done0[2]) + int(done1[2]) == max(int(done0[1]), int(done1[1]))
        assert float(done0[3]) < first / 100
        assert float(done1[3]) < first / 100
        checkpoint = tf.train.latest_checkpoint(str(tmp_path / "model"))
        assert tf.train.load_variable(checkpoint, "global_step") >= STEPS
        weights = tf.train.load_variable(checkpoint, "weights")[:, 0]
        assert weights[[0, -1]] == pytest.approx([-2, 2], abs=0.1)

        assert server.poll() is None
        server.terminate()
        assert server.wait(TIMEOUT) == 0
        assert "SIGTERM: exit 0" in server_log.read_text()
