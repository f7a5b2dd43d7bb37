"""Options of an import."""

from __future__ import annotations

from tfgen.job.training_job import Strategy
from tfgen.record import Record
from tfgen.schema.kinds import WorkloadKind


class Options(Record):
    """Options for the readers of foreign jobs.

    Attributes:
        kind: the workload kind of the imported job.
        name: the name of the imported job; None for the name of the foreign job.
        operator: the version (major, minor) of the training operator; None if the user sets no version.
        single_task_strategy: the strategy of a job with a single task.
    """

    kind: WorkloadKind = "StatefulSet"
    name: str | None = None
    operator: tuple[int, int] | None = None
    single_task_strategy: Strategy = "Single"
