"""The records of a benchmark: the sizes that it measures, the rows of its table, and the points of its plot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tests.bench.measure import Cost


class Sizes(NamedTuple):
    """Sizes of the benchmark.

    Attributes:
        jobs: Number of jobs in the rows on many jobs.
        structures: Number of structures of these jobs.
        most: Number of jobs in the last point of the plot, whose memory is a row.
        workers: Number of workers of the largest job.
        rounds: Number of rounds for each median.
        nodes: Number of nodes of the cluster. The number of jobs to plan is a tenth.
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
        title: Description of the work.
        ours: Seconds of tfgen.
        peer: The peer and its seconds.
        factor: Ratio of the two times in the direction of the goal: the median over the rounds.
        goal: Limits, separated by commas: of the factor, such as "at most 1.4" or "at least 30", or of the time of
            tfgen, such as "in 3 s".
        command: Command of tfgen.
    """

    title: str
    ours: float
    peer: tuple[str, float]
    factor: float
    goal: str
    command: str

    @property
    def is_missed(self) -> bool:
        """Whether the measurement exceeds a limit of the goal."""
        limits = re.findall(r"(at most|at least|in) ([\d.]+)", self.goal)
        return any(
            self.factor < float(limit) if word == "at least" else value > float(limit)
            for word, limit in limits
            for value in [self.ours if word == "in" else self.factor]
        )


class Point(NamedTuple):
    """A point of the plot: a number of jobs, workers or environments, and the cost of `tfgen render`."""

    number: int
    cost: Cost


class Results(NamedTuple):
    """Results of the benchmark. The points for jobs, workers and environments are from runs on one core."""

    rows: Sequence[Row]
    jobs: Sequence[Point]
    workers: Sequence[Point]
    environments: Sequence[Point]


def few_rounds(sizes: Sizes) -> int:
    """Return the number of rounds for a measurement that takes minutes."""
    return min(sizes.rounds, 5)
