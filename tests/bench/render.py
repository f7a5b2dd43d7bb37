"""How long `tfgen render` takes, beside Helm on the same chart and the same machine, in turn.

    python tests/bench/render.py            # the first table
    python tests/bench/render.py --many     # 1,000 jobs of three environments as well

Quote the ratios: seconds are those of one machine on one day.
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


def seconds(command: Sequence[str | Path]) -> float:
    """Wall time of one cold run."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def compare(folder: Path) -> None:
    """Medians of `ROUNDS` cold runs, the two commands in turn."""
    tfgen = Path(sys.executable).with_name("tfgen")
    helm = shutil.which("helm", path=CACHE) or shutil.which("helm")
    if not helm:
        sys.exit("needs helm: make tools")
    subprocess.run([tfgen, "render", JOB, "--out", folder], check=True, stdout=subprocess.DEVNULL)
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "tfgen render, nothing to change": [tfgen, "render", JOB, "--out", folder],
        "tfgen render --stdout": [tfgen, "render", JOB, "--stdout"],
        "helm template": [helm, "template", "dist-mnist", folder / "charts" / "dist-mnist"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(seconds(command))
    of_helm = statistics.median(times["helm template"])
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:<34} {median * 1000:6.0f} ms   {median / of_helm:5.2f} x helm template")


def many(folder: Path) -> None:
    """Seconds and peak memory for `JOBS` distinct jobs of three environments each."""
    text = JOB.read_text(encoding="utf-8")
    for number in range(JOBS):
        path = folder / "jobs" / f"{number:04}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("name: dist-mnist", f"name: job-{number:04}"), encoding="utf-8")
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
            many(Path(folder))


if __name__ == "__main__":
    main()
