"""Rows for jobs made of dist-mnist: a first render, and a check and a diff after a default of all jobs changed.

mnist_rows(folder, sizes)    the three rows
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from tests.bench.measure import Cost
from tests.bench.mnist_jobs import ENVIRONMENTS, STRUCTURES, write_mnist_jobs
from tests.bench.repository import commit, initialize, peer_seconds, run
from tests.bench.results import Row, Sizes, few_rounds
from tests.bench.rounds import factor, in_turn


def mnist_rows(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """Measure jobs made of dist-mnist, in subfolders of `folder`."""
    yield _first_render(folder, min(sizes.jobs, 240), few_rounds(sizes))
    yield from _changed_default(folder / "default", min(sizes.jobs, 300), few_rounds(sizes))


def _first_render(folder: Path, jobs: int, rounds: int) -> Row:
    """Measure the first render on one core, alternately with the peers for one job of each structure."""
    folders = (folder / f"render-{number}" for number in itertools.count())
    names = [f"mnist-{number:03}" for number in range(min(jobs, STRUCTURES))]
    rendered: list[Path] = []

    def render() -> Cost:
        rendered.append(next(folders))
        initialize(rendered[-1])
        write_mnist_jobs(rendered[-1], jobs)
        return run(("tfgen", "render", "jobs"), rendered[-1], cores=1)

    def peers() -> Cost:
        return Cost(peer_seconds(rendered[-1], names, ENVIRONMENTS) * jobs / len(names), 0)

    times = in_turn({"tfgen": render, "peers": peers}, rounds)
    title = f"{jobs:,} jobs of {len(names)} structures made of dist-mnist rendered, on one core"
    peer = ("helm and kustomize for these jobs", median(times["peers"]))
    gain = factor(times["peers"], times["tfgen"])
    return Row(title, median(times["tfgen"]), peer, gain, "at least 30", "tfgen render jobs")


def _changed_default(folder: Path, jobs: int, rounds: int) -> Iterator[Row]:
    """Measure a check and a diff after a default of all jobs changed, alternately with a check of the commit."""
    defaults = folder / "jobs" / "tfgen.yaml"
    initialize(folder)
    write_mnist_jobs(folder, jobs)
    text = "apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {priorityClassName: level-0}\n"
    defaults.write_text(text, encoding="utf-8")
    run(("tfgen", "render", "jobs"), folder)
    commit(folder)
    levels = itertools.count(1)

    def after_change(command: str) -> Cost:
        defaults.write_text(text.replace("level-0", f"level-{next(levels)}"), encoding="utf-8")
        cost = run(("tfgen", command, "jobs"), folder, allowed=(0, 1))
        defaults.write_text(text, encoding="utf-8")
        return cost

    commands = {command: partial(after_change, command) for command in ("check", "diff")}
    committed = partial(run, ("tfgen", "check", "jobs"), folder)
    times = in_turn({**commands, "committed": committed}, rounds)
    peer = ("check as committed", median(times["committed"]))
    for command, what in (("check", "checked"), ("diff", "compared with the commit")):
        title = f"{jobs:,} jobs made of dist-mnist {what} after a default changed, on all cores"
        gain = factor(times[command], times["committed"])
        yield Row(title, median(times[command]), peer, gain, "in 3 s", f"tfgen {command} jobs")
