"""How long `tfgen render` and `tfgen check` take, beside Helm on the same chart and the same machine, in turn.

    python tests/bench/render.py            # the first table
    python tests/bench/render.py --many     # 100 jobs checked, and 1,000 rendered, of three environments each, as well

Quote the ratios: seconds are those of one machine on one day. As where tfgen is installed, Python has compiled it: one
run goes before those that are timed, and PYTHONDONTWRITEBYTECODE, which some images set, is not passed on.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
JOB = ROOT / "examples" / "dist-mnist" / "job.yaml"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tfgen" / "bin"

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(command: Sequence[str | Path], folder: Path | None = None) -> str:
    """What a command prints; where it fails, what it said, and the end of the benchmark."""
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        line = shlex.join(map(str, command))
        sys.exit(f"$ {line}\nended with code {done.returncode}, in {folder or Path()}:\n{done.stderr}")
    return done.stdout


def seconds(command: Sequence[str | Path], folder: Path | None = None) -> float:
    """Wall time of one cold run."""
    began = time.perf_counter()
    run(command, folder)
    return time.perf_counter() - began


def helm_program() -> str:
    """Where Helm is."""
    return shutil.which("helm", path=CACHE) or shutil.which("helm") or sys.exit("needs helm: make tools")


def compare(folder: Path, rounds: int) -> None:
    """Medians of some cold runs, the two commands in turn."""
    tfgen, helm = Path(sys.executable).with_name("tfgen"), helm_program()
    run([tfgen, "render", JOB, "--out", folder])
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "tfgen render, nothing to change": [tfgen, "render", JOB, "--out", folder],
        "tfgen render --stdout": [tfgen, "render", JOB, "--stdout"],
        "helm template": [helm, "template", "dist-mnist", folder / "charts" / "dist-mnist"],
    }
    for command in commands.values():
        seconds(command)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(seconds(command))
    of_helm = statistics.median(times["helm template"])
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:<34} {median * 1000:6.0f} ms   {median / of_helm:5.2f} x helm template")


def write_jobs(folder: Path, jobs: int) -> None:
    """Distinct jobs, each in a file."""
    text = JOB.read_text(encoding="utf-8")
    for number in range(jobs):
        path = folder / "jobs" / f"{number:04}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("name: dist-mnist", f"name: job-{number:04}"), encoding="utf-8")


def checked(folder: Path, jobs: int, rounds: int) -> None:
    """`tfgen check` of jobs as they are committed, and of one of them, beside Helm with as many charts."""
    tfgen = Path(sys.executable).with_name("tfgen")
    write_jobs(folder, jobs)
    author = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    for command in (
        ("git", "init", "--quiet"),
        (tfgen, "render", "jobs"),
        ("git", "add", "--all"),
        ("git", *author, "commit", "--quiet", "--message=bench"),
    ):
        run(command, folder)
    chart = folder / "charts" / "job-0000"
    of_helm = statistics.median(seconds([helm_program(), "template", "x", chart]) for _ in range(rounds))
    for number, path in ((jobs, "jobs"), (1, "jobs/0000.yaml")):
        median = statistics.median(seconds([tfgen, "check", path], folder) for _ in range(min(5, rounds)))
        ratio = median / of_helm / number
        print(f"tfgen check, {number} as committed {median:11.2f} s    {ratio:5.2f} x helm template, for each job")


def many(folder: Path, jobs: int) -> None:
    """Seconds and peak memory for distinct jobs of three environments each."""
    write_jobs(folder, jobs)
    took = run([sys.executable, "-c", _MANY, folder / "jobs", folder / "out"]).strip()
    print(f"tfgen render, {jobs:,} jobs of three environments each: {took}")


_MANY = """
import contextlib, io, resource, sys, time
from tfgen import cli
began = time.perf_counter()
with contextlib.redirect_stdout(io.StringIO()):
    code = cli.run(["render", sys.argv[1], "--out", sys.argv[2]])
took, peak = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{took:.1f} s, {peak:.0f} MiB at most")
sys.exit(code)
"""


def main() -> None:
    """Run what is asked for, each part in a folder of its own: what it renders is not to stand above another's."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--many", action="store_true", help="many jobs as well")
    parser.add_argument("--rounds", type=int, default=20, help="how often each command is run (20)")
    parser.add_argument("--checked", type=int, default=100, help="with --many: how many jobs are checked (100)")
    parser.add_argument("--rendered", type=int, default=1_000, help="with --many: how many jobs are rendered (1,000)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder, "compare"), args.rounds)
        if args.many:
            checked(Path(folder, "checked"), args.checked, args.rounds)
            many(Path(folder, "many"), args.rendered)


if __name__ == "__main__":
    main()
