"""Converters of foreign jobs, such as TFJobs and Volcano Jobs, to job.yaml, with one module for each format.

The reader of each format makes a `ForeignJob`, and `job_data.py` converts the `ForeignJob` to the data of job.yaml.
After the import, the `ImportReport` has an entry for each line of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from tfgen.importers import arena, elastic_dl, job_set, tf_job, train_job, volcano_job
from tfgen.importers.foreign_job import ForeignJob
from tfgen.importers.import_report import ImportReport
from tfgen.importers.options import Options
from tfgen.importers.part import Part
from tfgen.schema.workload_kinds.facts import WorkloadKind

Read: TypeAlias = Callable[[Part, Sequence[Part], Options, ImportReport], ForeignJob | None]


class JobFormat(NamedTuple):
    """Format of the jobs of another tool, such as TFJob.

    Attributes:
        name: the usual name of the format.
        source: the kind and the API group of the object, or the command.
        kind: the workload kind that tfgen renders for this format.
        matches: returns whether an object has this format.
        canonical: returns the object in the shape that tfgen renders, for a comparison with rendered objects.
        read: the reader of the format.
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
"""The formats in which one object describes the whole job. An imported command line also becomes one object."""

COMMANDS: Final = ((arena.is_command, arena.job), (elastic_dl.is_command, elastic_dl.job))
"""For each supported command line: the function that recognizes the command, and the function that converts it."""
