"""The edit loop: a user edits, checks, compares and renders one job. Helm on the chart of the job is the comparison.

    edit_rows(folder, rounds)    the rows for the job of `tfgen init`, and for dist-mnist

Each command runs on a new edit. So the cache contains the results of the committed job, and no result of the edited
job.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

from tests.bench.measure import Cost
from tests.bench.mnist_jobs import DIST_MNIST
from tests.bench.repository import commit, initialize, run
from tests.bench.results import Row
from tests.bench.rounds import factor, in_turn

_ROWS: Final = (
    ("check", "checked", ("tfgen", "check", "jobs"), "at most 2.5"),
    ("render", "rendered", ("tfgen", "render", "jobs"), "at most 1.8"),
    ("diff", "compared with the commit", ("tfgen", "diff", "jobs"), "at most 1.8"),
    ("stdout", "objects printed", ("tfgen", "render", "--stdout", "jobs"), "at most 1.7"),
)
_PROBLEMS: Final = 1
"""The exit code of `tfgen check` for a job that was edited after its last render."""


def edit_rows(folder: Path, rounds: int) -> list[Row]:
    """Measure the edit loop of a small and of a large job, in subfolders of `folder`."""
    small, large = folder / "init", folder / "dist-mnist"
    initialize(small)
    run(("tfgen", "init", "mnist", "--out", "jobs"), small)
    initialize(large)
    shutil.copytree(DIST_MNIST, large / "jobs" / "dist-mnist")
    return [
        *_rows(small, "mnist", "registry.example.com/ml/mnist:1.0.", "an edited job of `tfgen init`", rounds),
        *_rows(large, "dist-mnist", "registry.example.com/ml/dist-mnist:1.4.", "edited dist-mnist", rounds),
    ]


def _rows(folder: Path, name: str, image: str, title: str, rounds: int) -> Iterator[Row]:
    """Measure the edit loop of the only job of a repository. An edit changes the patch level of the image's tag."""
    file = folder / "jobs" / name / "job.yaml"
    committed, levels = file.read_text(encoding="utf-8"), itertools.count(1)
    run(("tfgen", "render", "jobs"), folder)
    run(("tfgen", "check", "jobs"), folder)  # compiles each Python module before the first round
    commit(folder)

    def edited(command: tuple[str, ...]) -> Cost:
        file.write_text(committed.replace(f"{image}0", f"{image}{next(levels)}"), encoding="utf-8")
        return run(command, folder, allowed=(0, _PROBLEMS))

    commands = {command: (lambda words=words: edited(words)) for command, _, words, _ in _ROWS}
    helm = ("helm", "template", name, f"charts/{name}")
    times = in_turn({**commands, "helm": lambda: run(helm, folder)}, rounds)
    peer = ("helm template", median(times["helm"]))
    for command, what, words, goal in _ROWS:
        gain = factor(times[command], times["helm"])
        yield Row(f"{title}, {what}", median(times[command]), peer, gain, goal, " ".join(words))
