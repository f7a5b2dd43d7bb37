"""Adds up the requests of jobs by team, queue, cluster and environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tfgen.record import Record
from tfgen.site.facts import EnvironmentFacts, JobFacts, Requests, total


class Sum(Record):
    """A row of a table of sums, such as the row of one team.

    The row has the sum of the requests of all enabled environments with the same key.

    Attributes:
        key: the value in the first column, such as the name of a team. In a table by queue, the key is empty for
            environments without a queue.
        jobs: number of jobs with environments in this row.
    """

    key: str
    jobs: int
    requests: Requests


class SumTable(Record):
    """A table of the requests, summed by team, by queue, by cluster or by environment. The rows are sorted by key."""

    title: str
    rows: tuple[Sum, ...]


_KEYS: Final[Sequence[tuple[str, Callable[[JobFacts, EnvironmentFacts], str]]]] = (
    ("Team", lambda job, _: job.team),
    ("Queue", lambda _, environment: environment.queue),
    ("Cluster", lambda _, environment: environment.cluster),
    ("Environment", lambda _, environment: environment.name),
)


def sum_tables(jobs: Iterable[JobFacts]) -> tuple[SumTable, ...]:
    """Return four tables of the requests in the enabled environments of all jobs.

    The tables have the sums by team, by queue, by cluster and by environment.
    """
    enabled = [(job, environment) for job in jobs for environment in job.environments if environment.is_enabled]
    return tuple(_table(title, [(key(*pair), *pair) for pair in enabled]) for title, key in _KEYS)


def _table(title: str, rows: Sequence[tuple[str, JobFacts, EnvironmentFacts]]) -> SumTable:
    sums = []
    for key in sorted({row[0] for row in rows}):
        of_key = [row for row in rows if row[0] == key]
        names = {job.name for _, job, _ in of_key}
        sums.append(Sum(key, len(names), total(environment.requests for _, _, environment in of_key)))
    return SumTable(title, tuple(sums))
