"""docs/performance.md, from what is measured."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from tests.bench.results import Point, Results, Row, Sizes, few_rounds
from tests.bench.rows import ENVIRONMENTS
from tfgen.plural import count


class Machine(NamedTuple):
    """Where and when it was measured.

    Attributes:
        day: as 2026-01-31.
        load: the load averages of a minute, at the start and at the end.
        programs: each with its version.
    """

    day: str
    cores: int
    load: tuple[float, float]
    programs: dict[str, str]


_WIDTH = 120

_PAGE = """\
# Performance

{how}

{where}

| What | Command | Time | Beside it | Its time | Factor | Goal |
|---|---|---|---|---|---|---|
{rows}
{peers}

![Time and memory against jobs, workers and environments](performance.svg)

{plot}

| `tfgen render` of | Time | Memory at most |
|---|---|---|
{points}
{growth}

A run with smaller sizes takes minutes. It needs Linux, `make tools`, and a few gigabytes of disk:

    make bench JOBS=20 STRUCTURES=5 MOST=50 WORKERS=1000 ROUNDS=3
"""


def page(results: Results, sizes: Sizes, machine: Machine) -> str:
    """The whole page."""
    return _PAGE.format(
        how=_filled(
            "`make bench` measures what stands here, and writes this page. Each time is that of a whole process, from "
            f"its start to its end: the median of {count(sizes.rounds, 'run')}, and of {few_rounds(sizes)} where it is "
            f"{sizes.jobs:,} jobs, in turn with the programs that stand beside it. A factor says more than its two "
            "times, which are those of one machine on one day. It is the median of the factors of each round, and so "
            "not always the quotient of the two: a machine gets slower and faster meanwhile. The goal is what the "
            "project aims at."
        ),
        where=_filled(
            f"Measured on {machine.day}, on {machine.cores} cores, with {_versions(machine)}. The load of the machine "
            f"was {machine.load[0]:.1f} before and {machine.load[1]:.1f} at the end. Before, all of it is work of "
            "others, and above a few tenths the times are longer than they would be."
        ),
        rows="".join(map(_row, results.rows)),
        peers=_filled(
            f"Each job has {ENVIRONMENTS} environments. What stands beside many jobs is a `helm template` and a "
            "`kustomize build` for each environment of each job: run for one job of each structure, on all cores, and "
            "multiplied."
        ),
        plot=_filled(
            "Each point is `tfgen render` where nothing has been rendered yet, on one core. Both scales are "
            "logarithmic. Along the broken line, twice as many cost twice as much."
        ),
        points="".join(
            [
                *(_point(point, "job") for point in results.jobs),
                *(_point(point, "worker", "one job with ") for point in results.workers),
                *(_point(point, "environment", "one job with ") for point in results.environments),
            ]
        ),
        growth=_filled(_growth(results)),
    )


def _growth(results: Results) -> str:
    before, last = results.jobs[-2:]
    growth = (last.cost.memory - before.cost.memory) * 1024 / (last.number - before.number)
    return (
        f"Memory is that of the largest process. From {before.number:,} to {last.number:,} jobs it grows by "
        f"{growth:.1f} KiB a job. The goal is 200 MiB for 10,000 jobs, and 5 KiB for each further one."
    )


def _versions(machine: Machine) -> str:
    return ", ".join(f"{name} {version}" for name, version in machine.programs.items())


def _filled(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_on_hyphens=False)


def _row(row: Row) -> str:
    name, seconds = row.beside
    return (
        f"| {row.title} | `{row.command}` | {_time(row.ours)} | {name} | {_time(seconds)} "
        f"| {row.factor:.{2 if row.factor < 10 else 1}f} | {row.goal} |\n"
    )


def _point(point: Point, noun: str, before: str = "") -> str:
    what = f"{before}{point.number:,} {noun}{'' if point.number == 1 else 's'}"
    return f"| {what} | {_time(point.cost.seconds)} | {point.cost.memory:.0f} MiB |\n"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
