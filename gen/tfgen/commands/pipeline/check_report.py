"""The report of a check: the problems of jobs, of their objects and rendered files, and of changes to the jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfgen.errors import Problem
from tfgen.record import Record
from tfgen.tree.staging import Rendering, Stored

if TYPE_CHECKING:
    from tfgen.commands.pipeline.rendered_job import RenderedJob


class Report(Record):
    """The report of a check.

    Attributes:
        problems: the problems, in order.
        notes: messages that are not problems, for example about a check that was skipped.
        compared: the number of jobs that were compared with the committed jobs.
        jobs: the valid jobs. `tfgen check` returns a report without jobs, because the staging folder with the
            rendered files of the jobs is then removed.
        version: the version of the files that `tfgen check` read, such as "the commit HEAD".
    """

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    compared: int
    jobs: tuple[RenderedJob, ...]
    version: str = ""

    @property
    def renderings(self) -> Stored[Rendering]:
        """The rendered files of the jobs."""
        return Stored(job.rendering for job in self.jobs)
