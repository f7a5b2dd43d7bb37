"""How long `tfgen render` and `tfgen check` take, beside Helm on the same chart and the same machine, in turn.

    python tests/bench/render.py            # the first table
    python tests/bench/render.py --many     # 100 jobs checked, and 1,000 rendered, of three environments each, as well

Quote the ratios: seconds are those of one machine on one day. As where tfgen is installed, Python has compiled it: one
run goes before those that are timed, and PYTHONDONTWRITEBYTECODE, which some images set, is not passed on.
"""

from __future__ import annotations

import argparse
import os
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
ROUNDS = 20
JOBS = 1_000
CHECKED = 100


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds(command: Sequence[str | Path]) -> float:
    """Wall time of one cold run."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    return time.perf_counter() - began


def helm_program() -> str:
    """Where Helm is."""
    return shutil.which("helm", path=CACHE) or shutil.which("helm") or sys.exit("needs helm: make tools")


def compare(folder: Path) -> None:
    """Medians of `ROUNDS` cold runs, the two commands in turn."""
    tfgen, helm = Path(sys.executable).with_name("tfgen"), helm_program()
    subprocess.run([tfgen, "render", JOB, "--out", folder], check=True, stdout=subprocess.DEVNULL)
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "tfgen render, nothing to change": [tfgen, "render", JOB, "--out", folder],
        "tfgen render --stdout": [tfgen, "render", JOB, "--stdout"],
        "helm template": [helm, "template", "dist-mnist", folder / "charts" / "dist-mnist"],
    }
    for command in commands.values():
        seconds(command)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
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


def checked(folder: Path) -> None:
    """`tfgen check` of `CHECKED` jobs as they are committed, and of one of them, beside Helm with as many charts."""
    tfgen = Path(sys.executable).with_name("tfgen")
    write_jobs(folder, CHECKED)
    author = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    for command in (
        (tfgen, "render", "jobs"),
        ("git", "init", "--quiet"),
        ("git", "add", "--all"),
        ("git", *author, "commit", "--quiet", "--message=bench"),
    ):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    chart = folder / "charts" / "job-0000"
    of_helm = statistics.median(seconds([helm_program(), "template", "x", chart]) for _ in range(ROUNDS))
    os.chdir(folder)
    for jobs, path in ((CHECKED, "jobs"), (1, "jobs/0000.yaml")):
        median = statistics.median(seconds([tfgen, "check", path]) for _ in range(5))
        ratio = median / of_helm / jobs
        print(f"tfgen check, {jobs} as committed {median:11.2f} s    {ratio:5.2f} x helm template, for each job")


def many(folder: Path) -> None:
    """Seconds and peak memory for `JOBS` distinct jobs of three environments each."""
    write_jobs(folder, JOBS)
    command = [sys.executable, "-c", _MANY, str(folder / "jobs"), str(folder / "out")]
    print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="")


_MANY = """
import contextlib, io, resource, sys, time
from tfgen import cli
began = time.perf_counter()
with contextlib.redirect_stdout(io.StringIO()):
    code = cli.run(["render", sys.argv[1], "--out", sys.argv[2]])
took, peak = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"1,000 jobs, three environments each: {took:.1f} s, {peak:.0f} MiB at most, exit code {code}")
"""


def main() -> None:
    """Run what is asked for, in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--many", action="store_true", help="1,000 jobs as well")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder))
        if args.many:
            checked(Path(folder) / "checked")
            many(Path(folder))


if __name__ == "__main__":
    main()
