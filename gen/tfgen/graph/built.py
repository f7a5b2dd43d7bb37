"""A job built: its graph, and the plain objects of the job and of each environment."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from tfgen.data_path import Path
from tfgen.graph.fill import FillCache, Scope
from tfgen.graph.graph import graph, objects
from tfgen.graph.provenance import Part, filled_parts
from tfgen.graph.template import Template
from tfgen.job.training_job import Environment, Structure, TrainingJob
from tfgen.record import Record
from tfgen.schema import tunables

Objects: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Plain objects by their files' names, which say what each is in the job: ``worker``, ``claim-model``."""


class BuiltJob(Record):
    """A job's objects, with holes and filled.

    Attributes:
        templates: the graph.
        base: the objects of the job itself.
        environments: those of each environment that was asked for.
    """

    job: TrainingJob
    templates: tuple[Template, ...]
    base: Objects
    environments: Mapping[str, Objects]


def build(data: Mapping[str, Any], environments: Collection[str] | None = None) -> BuiltJob:
    """The objects of the job in a document that has no errors.

    Args:
        data: the document.
        environments: whose objects, beside the job's own; None for those of all.
    """
    job = TrainingJob.from_document(data)
    templates = graph(job.structure)
    asked = [e for e in job.environments if environments is None or e.name in environments]
    filled: dict[Hashable, Any] = {}
    by_environment = {e.name: _environment_objects(job, templates, e, filled) for e in asked}
    return BuiltJob(job, templates, objects(templates, _scope(job, job.values, filled)), by_environment)


def plain_objects(data: Mapping[str, Any], environment: str | None = None) -> Sequence[Mapping[str, Any]]:
    """The objects of the job itself, or of one of its environments.

    Raises:
        KeyError: the job has no such environment.
    """
    job = TrainingJob.from_document(data)
    templates = graph(job.structure)
    if environment is None:
        return tuple(objects(templates, _scope(job, job.values)).values())
    form = {e.name: e for e in job.environments}[environment]
    return tuple(_environment_objects(job, templates, form, {}).values())


def objects_before_rename(built: BuiltJob, environment: str) -> Objects:
    """Return the objects of an environment under the names of the job's run.

    The result is the mapping of `built` itself for an environment without a run of its own.
    """
    job = built.job
    form = next(form for form in job.environments if form.name == environment)
    if form.values["run"] == job.values["run"]:
        return built.environments[environment]
    values = {**form.values, "run": job.values["run"]}
    return _environment_objects(job, built.templates, form.replaced(values=values), {})


def object_parts(built: BuiltJob, environment: str | None = None) -> Mapping[str, Mapping[Path, Part]]:
    """Return the parts of the objects of a job or of an environment, by the key of the object and by path."""
    form = next((form for form in built.job.environments if form.name == environment), None)
    scope = _scope(built.job, built.job.values if form is None else form.values)
    parts: dict[str, dict[Path, Part]] = {}
    for template in built.templates:
        if template.chart_only or not (form is None or form.enabled or template.outlives):
            continue
        for key, part in filled_parts(template.node, scope):
            parts.setdefault(template.name if key is None else f"{template.name}-{key}", {})[part.path] = part
    return parts


class TaskObjects(Record):
    """The objects of a job's tasks in kinds that need no operator, and what they were filled with."""

    structure: Structure
    values: Mapping[str, Any]
    objects: Sequence[Mapping[str, Any]]


def task_objects(data: Mapping[str, Any], environment: str | None = None) -> TaskObjects:
    """The objects of a job's tasks as Kubernetes alone runs them: whatever its kind, and without a gang.

    Each pod in them is told of its cluster, which some kinds leave to an operator.

    Raises:
        KeyError: the job has no such environment.
    """
    job, spec = TrainingJob.from_document(data), data["spec"]
    structure = job.structure.replaced(kind="StatefulSet", gang=None, eci=None, patches=(), environment_patches={})
    if environment is None:
        values = tunables.values(spec, of_any_kind=True)
    else:
        values = tunables.environment_values(spec, environment, of_any_kind=True)
    return TaskObjects(structure, values, tuple(objects(graph(structure), _scope(job, values)).values()))


def _environment_objects(
    job: TrainingJob, templates: Sequence[Template], environment: Environment, filled: dict[Hashable, Any]
) -> Objects:
    """All of a job's objects in an environment; where it is retired, those that outlive it."""
    there = templates if environment.enabled else [template for template in templates if template.outlives]
    return objects(there, _scope(job, environment.values, filled))


def _scope(job: TrainingJob, values: Mapping[str, Any], filled: dict[Hashable, Any] | None = None) -> Scope:
    """As Helm sees a release that has the job's own name; with what is filled for all forms of the job."""
    cache = FillCache(values, job.values, {} if filled is None else filled)
    return Scope(values, release=job.name, chart=job.name, cache=cache)
