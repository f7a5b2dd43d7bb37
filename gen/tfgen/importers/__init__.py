"""Converters to job.yaml for the jobs of other tools, such as TFJobs and Volcano Jobs. Each format has a module.

The reader of each format returns a `ForeignJob`, the job of the other tool with the fields of job.yaml. `job_yaml`
converts the `ForeignJob` to the data and the text of job.yaml, and `compare` compares the job with its source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from tfgen.importers import arena, elastic_dl, job_set, tf_job, volcano_job
from tfgen.importers.foreign_job import ForeignJob
from tfgen.importers.part import Part, api_group, kind
from tfgen.importers.table import Notes, Options

Read: TypeAlias = Callable[[Part, Sequence[Part], Options, Notes], ForeignJob | None]


class JobFormat(NamedTuple):
    """Format of the jobs of another tool, for example the format of the TFJobs of Kubeflow.

    Attributes:
        kinds: the kinds of the objects that have this format.
        groups: the API groups of these objects. For a command line, the API group is the name of the tool.
        read: the function that converts an object of this format to a `ForeignJob`.
        command: the command that submits the job; empty for a job in a manifest.
    """

    kinds: Sequence[str]
    groups: Sequence[str]
    read: Read
    command: str = ""

    @property
    def source(self) -> str:
        """The name of the source in messages: the kind with its API group, or the command that submits the job."""
        return f"the command {self.command}" if self.command else f"{self.kinds[0]} of {self.groups[0]}"

    def matches(self, item: Part) -> bool:
        """Return whether an object has this format."""
        return kind(item) in self.kinds and api_group(item) in self.groups


FORMATS: Final = (
    JobFormat(["TFJob"], [arena.GROUP], arena.read, "arena submit tfjob"),
    JobFormat(["Pod"], [elastic_dl.GROUP], elastic_dl.read, "elasticdl train"),
    JobFormat(tf_job.KINDS, tf_job.GROUPS, tf_job.read),
    JobFormat(["JobSet"], [job_set.GROUP], job_set.read),
    JobFormat(["TrainJob"], [job_set.TRAINER_GROUP], job_set.read_train_job),
    JobFormat(["Job"], [volcano_job.GROUP], volcano_job.read),
)
"""The formats in which one object describes the whole job. The import also converts a command line to one object."""

COMMANDS: Final = ((arena.is_command, arena.job), (elastic_dl.is_command, elastic_dl.job))
"""(test, convert) for each supported command line: `test` recognizes a command, `convert` makes an object from it."""
