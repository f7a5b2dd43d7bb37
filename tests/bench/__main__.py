"""Measure tfgen, Helm and kustomize, and write docs/performance.md and its plots: `make bench`."""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.bars import bars
from tests.bench.jobs import STRUCTURES
from tests.bench.measure import program
from tests.bench.page import Machine, page
from tests.bench.plot import plot
from tests.bench.results import Sizes
from tests.bench.rows import run_all

DOCS = Path(__file__).parents[2] / "docs"


def main() -> None:
    """Run the benchmark and write the page and its plots."""
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = Sizes()
    for name, default in sizes._asdict().items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"({default})")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where performance.md goes")
    args = parser.parse_args()
    sizes = Sizes(*(getattr(args, name) for name in Sizes._fields))
    if min(sizes) < 1 or sizes.structures > STRUCTURES or sizes.most < 2:
        sys.exit(f"a size is less than 1, the structures are more than {STRUCTURES}, or --most is less than 2")
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="tfgen-bench-") as folder:
        results = run_all(sizes, Path(folder))
    machine = Machine(
        f"{datetime.now(UTC):%Y-%m-%d}", len(os.sched_getaffinity(0)), (before, os.getloadavg()[0]), versions()
    )
    text = page(results, sizes, machine)
    (args.docs / "performance-bars.svg").write_text(bars(results.rows), encoding="utf-8")
    (args.docs / "performance.svg").write_text(plot(results), encoding="utf-8")
    (args.docs / "performance.md").write_text(text, encoding="utf-8")
    print(text, end="")


def versions() -> dict[str, str]:
    """Return the version of each measured program."""
    commands = {"tfgen": ["--version"], "helm": ["version", "--template", "{{.Version}}"], "kustomize": ["version"]}
    texts = {
        name: subprocess.run([program(name), *words], capture_output=True, text=True, check=True).stdout
        for name, words in commands.items()
    }
    found = {name: re.search(r"\d+\.\d[\w.]*", text) for name, text in texts.items()}
    return {**{name: match[0] if match else "?" for name, match in found.items()}, "Python": platform.python_version()}


if __name__ == "__main__":
    main()
