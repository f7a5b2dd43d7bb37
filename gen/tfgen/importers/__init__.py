"""Foreign jobs to a job's data: a module for each form, and the parts that the forms share.

A reader makes a `ForeignJob`, mostly by tables of fields (`fields.py`), and one writer makes the data of job.yaml. Each
line of the source has an entry in the `Account` in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from tfgen.importers import arena, elastic_dl, hand_written, job_set, tf_job, train_job, volcano_job
from tfgen.importers.foreign_job import ForeignJob
from tfgen.importers.import_report import ImportReport
from tfgen.importers.options import Options
from tfgen.importers.part import Part
from tfgen.schema.workload_kinds.facts import WorkloadKind

Read: TypeAlias = Callable[[Part, Sequence[Part], Options, ImportReport], ForeignJob | None]


class JobFormat(NamedTuple):
    """A form of foreign jobs.

    Attributes:
        name: what people call it.
        source: what it is read from: the kind and the API group of an object, or a command.
        kind: the workload kind that renders to it.
        matches: whether an object is one.
        canonical: the object in the shape that tfgen renders.
        read: its reader.
    """

    name: str
    source: str
    kind: WorkloadKind
    matches: Callable[[Part], bool]
    canonical: Callable[[Part], Part]
    read: Read


FORMATS: Final = (
    JobFormat("Arena job", "the command arena submit tfjob", "TFJob", arena.is_arena, arena.canonical, arena.read),
    JobFormat(
        elastic_dl.FORMAT,
        "the command elasticdl train",
        "ElasticDL",
        elastic_dl.is_elastic_dl,
        elastic_dl.canonical,
        elastic_dl.read,
    ),
    JobFormat("TFJob", "TFJob of kubeflow.org", "TFJob", tf_job.is_tf_job, tf_job.canonical, tf_job.read),
    JobFormat("JobSet", f"JobSet of {job_set.GROUP}", "JobSet", job_set.is_job_set, job_set.canonical, job_set.read),
    JobFormat(
        train_job.FORMAT,
        f"TrainJob of {train_job.GROUP}",
        "JobSet",
        train_job.is_train_job,
        job_set.canonical,
        train_job.read,
    ),
    JobFormat(
        "Volcano Job",
        f"Job of {volcano_job.GROUP}",
        "VolcanoJob",
        volcano_job.is_volcano_job,
        volcano_job.canonical,
        volcano_job.read,
    ),
)
"""Forms of one object a job."""

COMMANDS: Final = ((arena.is_command, arena.job), (elastic_dl.is_command, elastic_dl.job))
"""Forms of one command a job: whether a command is one, and the object that is made of it."""

HAND_WRITTEN: Final = hand_written.FORMAT
"""The form of many objects a job, which is what is left when those of one object are read."""
