"""The object graph of a job, and the plain objects of the job and of its environments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from tfgen.graph.fill import Scope
from tfgen.graph.graph import graph, objects
from tfgen.graph.template import Template
from tfgen.job.training_job import Environment, Structure, TrainingJob
from tfgen.record import EMPTY, Record
from tfgen.schema import tunables
from tfgen.text.json_text import have_equal_text

Objects: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The plain objects of a job by file name. Example: {"worker": {"kind": "StatefulSet", ...}, "claim-model": {...}}."""


class BuiltJob(Record):
    """A job with its object graph and its plain objects.

    Attributes:
        templates: the object graph.
        base: the plain objects of the job without an environment.
        environments: the plain objects of each requested environment, by the name of the environment.
    """

    job: TrainingJob
    templates: tuple[Template, ...]
    base: Objects
    environments: Mapping[str, Objects]


def build(data: Mapping[str, Any], environments: Collection[str] | None = None) -> BuiltJob:
    """Build the object graph and the plain objects of a job.

    Args:
        data: the data of the job document, which must have no errors.
        environments: the names of the environments to build. None builds all environments.
    """
    job = TrainingJob.from_document(data)
    templates = graph(job.structure)
    requested = [e for e in job.environments if environments is None or e.name in environments]
    base = filled(job, templates, None)
    by_environment = {e.name: _environment_objects(job, templates, e, base) for e in requested}
    return BuiltJob(job, templates, base, by_environment)


def filled(job: TrainingJob, templates: Sequence[Template], environment: str | None) -> Objects:
    """Fill the object graph `templates` of a job with the values of an environment; None for the values of the job.

    Raises:
        KeyError: the environment does not exist.
    """
    if environment is None:
        return objects(templates, _scope(job, job.values))
    return _environment_objects(job, templates, {e.name: e for e in job.environments}[environment])


def variant_objects(built: BuiltJob, environment: str | None) -> tuple[Mapping[str, Any], ...]:
    """Return the plain objects of an environment.

    If `environment` is None, return the plain objects of the job without an environment.
    """
    return tuple((built.base if environment is None else built.environments[environment]).values())


def plain_objects(data: Mapping[str, Any], environment: str | None = None) -> Sequence[Mapping[str, Any]]:
    """Build the plain objects of an environment.

    If `environment` is None, build the plain objects of the job without an environment.

    Raises:
        KeyError: the environment does not exist.
    """
    job = TrainingJob.from_document(data)
    return tuple(filled(job, graph(job.structure), environment).values())


def objects_with_run_name_of_job(built: BuiltJob, environment: str) -> Objects:
    """Return the objects of an environment, but with the run name of the job without an environment.

    If both run names are equal, return the mapping in `built` instead of a copy.
    """
    job = built.job
    variant = next(variant for variant in job.environments if variant.name == environment)
    if variant.values["run"] == job.values["run"]:
        return built.environments[environment]
    values = {**variant.values, "run": job.values["run"]}
    return _environment_objects(job, built.templates, variant.replaced(values=values))


class TaskObjects(Record):
    """The values of a job, and the objects, such as StatefulSets, that run the job's tasks without an operator."""

    structure: Structure
    values: Mapping[str, Any]
    objects: Sequence[Mapping[str, Any]]


def task_objects(data: Mapping[str, Any], environment: str | None = None) -> TaskObjects:
    """Build the objects that run a job's tasks without an operator and without a gang scheduler.

    The pods contain TF_CONFIG, even for a workload kind whose operator usually sets TF_CONFIG.

    Raises:
        KeyError: the environment does not exist.
    """
    job, spec = TrainingJob.from_document(data), data["spec"]
    structure = job.structure.replaced(kind="StatefulSet", gang=None, eci=None, patches=(), environment_patches={})
    if environment is None:
        values = tunables.values(spec, of_any_kind=True)
    else:
        values = tunables.environment_values(spec, environment, of_any_kind=True)
    return TaskObjects(structure, values, tuple(objects(graph(structure), _scope(job, values)).values()))


def _environment_objects(
    job: TrainingJob, templates: Sequence[Template], environment: Environment, base: Objects = EMPTY
) -> Objects:
    """Return the objects of an environment. If the environment disables the job, return only the claims.

    An object with the JSON text of an object of `base` is the object of `base`, so that a caller checks the object only
    once.
    """
    if not environment.enabled:
        templates = [template for template in templates if template.survives_retirement]
    filled = objects(templates, _scope(job, environment.values))
    return {name: base[name] if have_equal_text(base.get(name), item) else item for name, item in filled.items()}


def _scope(job: TrainingJob, values: Mapping[str, Any]) -> Scope:
    """Return the values of a variant. The name of the Helm release is the name of the job."""
    return Scope(values, release=job.name, chart=job.name)
