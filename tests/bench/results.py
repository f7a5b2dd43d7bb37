"""The records of a benchmark: the sizes that it measures, the rows of its table, and the points of its plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tests.bench.measure import Cost


class Sizes(NamedTuple):
    """Sizes of the benchmark.

    Attributes:
        jobs: in the rows on many jobs.
        structures: which they have in turn.
        most: jobs in the last point of the plot, whose memory is a row.
        rounds: of which the medians are taken.
        nodes: of the cluster for which a tenth as many jobs are planned.
    """

    jobs: int = 1_000
    structures: int = 50
    most: int = 10_000
    workers: int = 3_000
    rounds: int = 15
    nodes: int = 1_000


class Row(NamedTuple):
    """A line of the table.

    Attributes:
        title: what is done.
        ours: the seconds of tfgen.
        beside: the program for comparison, and its seconds.
        factor: of the two, as the goal says it: the median of those of the rounds.
        goal: what the factor is to be.
        command: of tfgen.
    """

    title: str
    ours: float
    beside: tuple[str, float]
    factor: float
    goal: str
    command: str


class Point(NamedTuple):
    """A point of the plot: how many of something, and what `tfgen render` of that costs."""

    number: int
    cost: Cost


class Results(NamedTuple):
    """All that is measured; the points on jobs, on workers and on environments are of runs on one core."""

    rows: Sequence[Row]
    jobs: Sequence[Point]
    workers: Sequence[Point]
    environments: Sequence[Point]


def few_rounds(sizes: Sizes) -> int:
    """The rounds of what takes minutes."""
    return min(sizes.rounds, 5)
