"""The runs of jobs, and the objects of each: what all commands begin with that compare a run with a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tfgen.errors import TfgenError
from tfgen.graph.built import build, task_objects
from tfgen.job.facts import check_environment
from tfgen.job.output_root import output_root
from tfgen.kubernetes.object import Object
from tfgen.live.wanted_run import WantedRun, wanted_run
from tfgen.record import Record
from tfgen.text.document import Document


class RunObjects(Record):
    """A run of a job, and all of its objects."""

    run: WantedRun
    objects: tuple[Object, ...]


def all_jobs() -> Path:
    """The folder of all jobs of the repository that the working directory is in.

    Raises:
        UsageError: it is in none.
    """
    return output_root(Path())


def wanted_runs(documents: Iterable[Document], environment: str | None, *, in_all: bool = False) -> list[RunObjects]:
    """The runs of some jobs.

    Args:
        documents: the jobs, which have no errors.
        environment: the one that is asked for; None for the jobs themselves.
        in_all: whether all environments are asked for; a job that has none stands for itself.

    Raises:
        UsageError: a job has no such environment.
    """
    runs = []
    asked = () if environment is None else (environment,)
    for document in documents:
        if environment is not None:
            check_environment(document, environment)
        built = build(document.data, None if in_all and environment is None else asked)
        names: Sequence[str | None] = list(built.environments) or [None]
        for name in names:
            objects = built.base if name is None else built.environments[name]
            run = wanted_run(built, task_objects(document.data, name), name)
            runs.append(RunObjects(run, tuple(objects.values())))
    return runs


def one_run(document: Document, environment: str | None) -> WantedRun:
    """The run of a command that takes one.

    Raises:
        UsageError: the job has no such environment.
        TfgenError: the job does not run there.
    """
    (item,) = wanted_runs([document], environment)
    if not item.run.is_enabled:
        raise TfgenError(f"{item.run.title}: the job is not to run there (enabled: false)")
    return item.run
