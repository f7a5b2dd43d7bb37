"""What the user of an import says besides the files."""

from __future__ import annotations

from tfgen.job.training_job import Strategy
from tfgen.record import Record
from tfgen.schema.workload_kinds.facts import WorkloadKind


class Options(Record):
    """How a foreign job is to be read.

    Attributes:
        kind: the workload kind of the job that is written.
        name: the job's name, in place of its own.
        operator: the version of the operator that ran it, as major and minor; none where that is not known.
        single_task_strategy: the strategy of a job of one task.
    """

    kind: WorkloadKind = "StatefulSet"
    name: str | None = None
    operator: tuple[int, int] | None = None
    single_task_strategy: Strategy = "Single"
