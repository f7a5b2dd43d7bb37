"""The text of docs/performance.md, from the results of the benchmark."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from tests.bench.results import Point, Results, Row, Sizes, few_rounds
from tests.bench.rows import ENVIRONMENTS
from tfgen.words import count


class Machine(NamedTuple):
    """Machine and day of the measurement.

    Attributes:
        day: Date in the format 2026-01-31.
        cores: Number of processor cores.
        load: Load averages over a minute, at the start and at the end.
        programs: Version of each program by name.
    """

    day: str
    cores: int
    load: tuple[float, float]
    programs: dict[str, str]


_WIDTH = 120

_PAGE = """\
# Performance

![Times of tfgen, Helm and kustomize](performance-bars.svg)

{how}

{where}

| Subject | Command | Time | Peer | Time of the peer | Factor | Goal |
|---|---|---|---|---|---|---|
{rows}
{equal}

{peers}

![Time and memory against jobs, workers and environments](performance.svg)

{plot}

| `tfgen render` of | Time | Maximum memory |
|---|---|---|
{points}
{growth}

A run with smaller sizes takes minutes, and needs Linux, `make tools`, and a few gigabytes of disk:

    make bench JOBS=20 STRUCTURES=5 MOST=50 WORKERS=1000 ROUNDS=3
"""


def page(results: Results, sizes: Sizes, machine: Machine) -> str:
    """Return the complete page."""
    return _PAGE.format(
        how=_filled(
            "`make bench` measures these times and writes this page. Each time is the time of a whole process, as the "
            f"median of {count(sizes.rounds, 'run')}, or of {few_rounds(sizes)} for a row with many jobs. Each round "
            "runs tfgen and the peer in turn. A factor is the median of the factors of all rounds, because the speed "
            "of a machine varies during the measurement. So a factor may differ from the quotient of the two times. "
            "Compare factors rather than times, because the times depend on the machine. The word "
            "**missed** marks a row that misses its goal."
        ),
        where=_filled(
            f"Measured on {machine.day}, on {machine.cores} cores, with {_versions(machine)}. The load of the machine "
            f"was {machine.load[0]:.1f} at the start and {machine.load[1]:.1f} at the end. The load at the start comes "
            "from other programs. With a load above 0.3, the times are longer than on an idle machine."
        ),
        rows="".join(map(_row, results.rows)),
        equal=_filled(
            "The rows with the peer `lint, build, validate` compare equal work. The peer runs `helm lint`, then `helm "
            "template` for each environment and `kustomize build` for each overlay, each with its output in "
            "`kubeconform`, one after the other. These commands check the objects of an edited job without tfgen."
        ),
        peers=_filled(
            f"Each job has {ENVIRONMENTS} environments. The peer of many jobs is one `helm template` and one "
            "`kustomize build` for each environment of each job. The measurement runs one job of each structure, on "
            "all cores, and multiplies the time."
        ),
        plot=_filled(
            "Each point is a first `tfgen render`, on one core. The two scales are logarithmic. Along the broken "
            "line, the cost is proportional to the number."
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
        f"Memory is the memory of the largest process. From {before.number:,} to {last.number:,} jobs, the memory "
        f"grows by {growth:.1f} KiB for each job. The goal is 200 MiB for 10,000 jobs, and 5 KiB for each additional "
        "job."
    )


def _versions(machine: Machine) -> str:
    return ", ".join(f"{name} {version}" for name, version in machine.programs.items())


def _filled(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_on_hyphens=False)


def _row(row: Row) -> str:
    name, seconds = row.peer
    goal = f"{row.goal}: **missed**" if row.is_missed else row.goal
    return (
        f"| {row.title} | `{row.command}` | {time_text(row.ours)} | {name} | {time_text(seconds)} "
        f"| {row.factor:.{2 if row.factor < 10 else 1}f} | {goal} |\n"
    )


def _point(point: Point, noun: str, before: str = "") -> str:
    what = f"{before}{point.number:,} {noun}{'' if point.number == 1 else 's'}"
    return f"| {what} | {time_text(point.cost.seconds)} | {point.cost.memory:.0f} MiB |\n"


def as_printed(seconds: float) -> float:
    """Round seconds as `time_text` does: to milliseconds below one second, and to tenths of a second above."""
    return round(seconds, 3 if seconds < 1 else 1)


def time_text(seconds: float) -> str:
    """Return a time as 71 ms or 16.4 s."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
