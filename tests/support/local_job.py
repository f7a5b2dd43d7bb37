"""A small job with its own program, which `tfgen local` runs as processes of this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tests.support.signals import heed_terminal
from tests.support.tools import ROOT

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
    (folder / "train.py").write_text(START + textwrap.dedent(program), encoding="utf-8")
    path = folder / "job.yaml"
    path.write_text(job, encoding="utf-8")
    return path


LAUNCH = """\
import sys, time
faster, *arguments = sys.argv[1:]
monotonic = time.monotonic
time.monotonic = lambda: monotonic() * float(faster)
from tfgen.cli import main
main(arguments)
"""
"""A program that runs tfgen with a faster clock, for shorter pauses before restarts and shorter times of `--fail`."""


def start(job: Path, *options: str, env: dict[str, str] | None = None, faster: int = 1) -> subprocess.Popen[str]:
    """Start `tfgen local` with a clock that is `faster` times faster, and with a temporary folder beside the job."""
    temporary = job.parent / "tmp"
    temporary.mkdir(exist_ok=True)
    own = {"TMPDIR": str(temporary), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.Popen(
        (sys.executable, "-c", LAUNCH, str(faster), "local", str(job), *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=job.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT / "gen"), **own, **(env or {})},
        preexec_fn=heed_terminal,
    )


def run(job: Path, *options: str, env: dict[str, str] | None = None, timeout: float = 120, faster: int = 1) -> Ran:
    """Run `tfgen local` until it ends."""
    process = start(job, *options, env=env, faster=faster)
    try:
        printed, said = process.communicate(timeout=timeout)
    finally:
        process.kill()
    assert "Traceback" not in said, said
    lines: dict[str, list[str]] = {}
    for line in printed.splitlines():
        task, _, text = line.partition("|")
        lines.setdefault(task.strip(), []).append(text.removeprefix(" "))
    return Ran(process.returncode, lines, said)
