"""What a check of jobs, of what comes of them and of what has changed gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfgen.problems import Problem
from tfgen.record import Record
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import Spooled

if TYPE_CHECKING:
    from tfgen.commands.pipeline.rendered_file import SpooledJob


class Report(Record):
    """What came of it.

    Attributes:
        problems: in order.
        notes: what is no problem and worth knowing: what was not looked at, and what would change one day.
        compared: how many jobs were compared with what is committed.
        jobs: those without errors, while the spool is open that has their renderings; then none.
    """

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    compared: int
    jobs: tuple[SpooledJob, ...]

    @property
    def renderings(self) -> Spooled[Rendering]:
        """What is rendered of those."""
        return Spooled(job.rendering for job in self.jobs)
