"""What `tfgen render` does with checked jobs: their files, without those of removed jobs, or their objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.check.severities import weigh
from tfgen.commands.removed_jobs import find_removed_jobs
from tfgen.graph.built import build
from tfgen.job.facts import check_environment
from tfgen.job.sources import no_job_below
from tfgen.kubernetes.object import Object
from tfgen.problems import Problem, in_order
from tfgen.targets.render import render_document
from tfgen.text.document import Document
from tfgen.tree.plan import WritePlan
from tfgen.tree.rendering import Rendering
from tfgen.tree.write import apply, plan_write, read_ledgers


def render_jobs(documents: Iterable[Document]) -> tuple[list[Rendering], tuple[Problem, ...]]:
    """The files of the jobs in some documents without errors, and what is wrong with the objects in them."""
    renderings: list[Rendering] = []
    problems: list[Problem] = []
    for document in documents:
        built = build(document.data)
        problems += weigh(document, check_objects(document, built, ObjectSchemas())).problems
        renderings.append(render_document(document, built))
    return renderings, in_order(problems)


def render_objects(documents: Sequence[Document], environment: str | None) -> tuple[list[Object], tuple[Problem, ...]]:
    """The objects of the jobs in some documents without errors, and what is wrong with them.

    Args:
        documents: the jobs.
        environment: whose objects; None for those of the jobs themselves.

    Raises:
        UsageError: a job has no such environment.
    """
    if environment is not None:
        for document in documents:
            check_environment(document, environment)
    objects: list[Object] = []
    problems: list[Problem] = []
    for document in documents:
        built = build(document.data)
        problems += weigh(document, check_objects(document, built, ObjectSchemas())).problems
        objects += (built.base if environment is None else built.environments[environment]).values()
    return objects, in_order(problems)


def write_jobs(
    paths: Sequence[Path], renderings: Sequence[Rendering], out: Path, *, force: bool = False, upgrade: bool = False
) -> WritePlan:
    """Write all files of some jobs, and remove those of jobs that the paths have no more.

    Args:
        paths: the files and folders that were named.
        renderings: of the jobs in them.
        out: the output folder.
        force: whether files that were edited by hand are replaced.
        upgrade: whether a job is rendered anew where only tfgen or the defaults under it changed.

    Raises:
        UsageError: there is no job, and none was removed.
        ConflictsError: a file was edited by hand, and it is not `force`.
        TfgenError: the disk fails.
    """
    removals = find_removed_jobs(read_ledgers(out), paths, {rendering.job for rendering in renderings})
    if not renderings and not removals:
        raise no_job_below(paths)
    return apply(plan_write(out, [*renderings, *removals], force=force, upgrade=upgrade))
