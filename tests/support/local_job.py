"""A small job with its own program, which `tfgen local` runs as processes of this machine."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.signals import heed_terminal
from tests.support.tools import ROOT
from tfgen import cli

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  image: small:1
  command: [python, /opt/train.py]
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
"""

START = """\
import json, os, signal, sys, time
task = json.loads(os.environ["TF_CONFIG"])["task"]
name = f"{task['type']}-{task['index']}"

def meet(step="start"):
    # Waits until all tasks of the cluster have come to the step.
    hosts = json.loads(os.environ["TF_CONFIG"])["cluster"]
    open(f"{name}.{step}", "w").close()
    while not all(os.path.exists(f"{role}-{index}.{step}") for role in hosts for index in range(len(hosts[role]))):
        time.sleep(0.02)

"""
"""Beginning of every program. `name` is the name of the task. The tasks start in the folder of the program."""


@dataclass(frozen=True)
class Ran:
    """Result of a run: the exit code, the lines of each task, and the messages of tfgen."""

    code: int
    lines: dict[str, list[str]]
    said: str

    @property
    def logs(self) -> Path:
        """Return the folder of the log files."""
        return Path(re.search(r"^logs: (.*)$", self.said, re.MULTILINE)[1])


def write_job(folder: Path, program: str, job: str = JOB) -> Path:
    """Write the job file, with the program in the same folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.py").write_text(START + textwrap.dedent(program), encoding="utf-8")
    path = folder / "job.yaml"
    path.write_text(job, encoding="utf-8")
    return path


def _environment(job: Path) -> dict[str, str]:
    """Return the variables of a run: a temporary folder beside the job, and this Python as `python`."""
    temporary = job.parent / "tmp"
    temporary.mkdir(exist_ok=True)
    return {"TMPDIR": str(temporary), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def start(job: Path, *options: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start `tfgen local`."""
    return subprocess.Popen(
        (sys.executable, "-m", "tfgen", "local", str(job), *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=job.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT / "gen"), **_environment(job), **(env or {})},
        preexec_fn=heed_terminal,
    )


def run(job: Path, *options: str, env: dict[str, str] | None = None, timeout: float = 120, faster: int = 1) -> Ran:
    """Run `tfgen local` in this process until it ends.

    Args:
        job: The job file.
        options: The options of the command.
        env: Variables added to the environment.
        timeout: Seconds after which the run fails.
        faster: The factor of the clock, for shorter pauses before restarts and shorter times of `--fail`.
    """

    def fail(*_: object) -> None:
        pytest.fail(f"tfgen local took longer than {timeout} s")

    clock = time.monotonic
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**_environment(job), **(env or {})}.items():
            patch.setenv(name, value)
        patch.chdir(job.parent)
        patch.setattr(tempfile, "tempdir", None)
        patch.setattr(time, "monotonic", lambda: clock() * faster)
        previous = signal.signal(signal.SIGALRM, fail)
        signal.setitimer(signal.ITIMER_REAL, timeout)
        try:
            with redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()) as said:
                code = cli.run(["local", str(job), *options])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
    lines: dict[str, list[str]] = {}
    for line in printed.getvalue().splitlines():
        task, _, text = line.partition("|")
        lines.setdefault(task.strip(), []).append(text.removeprefix(" "))
    return Ran(code, lines, said.getvalue())
