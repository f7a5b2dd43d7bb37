"""What a check of jobs, of what comes of them and of what has changed gives."""

from __future__ import annotations

from tfgen.problems import Problem
from tfgen.record import Record
from tfgen.tree.rendering import Rendering


class Report(Record):
    """What came of it.

    Attributes:
        problems: in order.
        notes: what is no problem and worth knowing: what was not looked at, and what would change one day.
        compared: how many jobs were compared with what is committed.
        renderings: of the jobs without errors.
    """

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    compared: int
    renderings: tuple[Rendering, ...]
