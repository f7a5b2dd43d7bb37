"""Build the runs that job files declare, and the objects of these runs, for the commands that read a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfgen import data_path
from tfgen.errors import TfgenError
from tfgen.graph.built import BuiltJob, build, task_objects
from tfgen.job.facts import check_environment
from tfgen.job.training_job import Environment
from tfgen.kubernetes.object import Object
from tfgen.live.run import DeclaredRun, declared_run
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.words import either


class RunObjects(Record):
    """A run of a job, and the objects of the run.

    For a retired environment, the objects are those that the job has while the environment is enabled.
    """

    run: DeclaredRun
    objects: tuple[Object, ...]


def declared_runs(documents: Iterable[Document], environment: str | None, *, in_all: bool = False) -> list[RunObjects]:
    """Return the run of each job in an environment, or in all environments.

    Args:
        documents: the valid jobs.
        environment: the environment of the runs; None for the job without an environment.
        in_all: whether to return the runs of all environments. The option has an effect only if `environment` is None.
            A job without environments has a single run.

    Raises:
        UsageError: a job does not have the environment.
    """
    runs = []
    selection = () if environment is None else (environment,)
    for document in documents:
        if environment is not None:
            check_environment(document, environment)
        built = build(document.data, None if in_all and environment is None else selection)
        places = {place.name: place for place in built.job.environments}
        names: Sequence[str | None] = list(built.environments) or [None]
        for name in names:
            if name is None or places[name].enabled:
                runs.append(_run_objects(document.data, built, name))
            else:
                data: Mapping[str, Any] = data_path.with_value(
                    document.data, ("spec", "environments", name, "enabled"), True
                )
                item = _run_objects(data, build(data, (name,)), name)
                live_runs = _live_runs(places[name], built.job.environments)
                runs.append(item.replaced(run=item.run.replaced(is_enabled=False, live_runs=live_runs)))
    return runs


def find_run(document: Document, environment: str | None, *, may_be_retired: bool = False) -> RunObjects:
    """Return the run of a job in an environment, with its objects.

    Raises:
        UsageError: the job does not have the environment.
        TfgenError: the job is retired in the environment, and `may_be_retired` is false.
    """
    (item,) = declared_runs([document], environment)
    if not (item.run.is_enabled or may_be_retired):
        raise TfgenError(f"{item.run.title}: the job is retired in the environment (enabled: false)")
    return item


def _run_objects(data: Mapping[str, Any], built: BuiltJob, environment: str | None) -> RunObjects:
    objects = built.base if environment is None else built.environments[environment]
    return RunObjects(declared_run(built, task_objects(data, environment), environment), tuple(objects.values()))


def _live_runs(retired: Environment, environments: Iterable[Environment]) -> Mapping[str, str]:
    """Return the run names of the enabled environments with the cluster and namespace of `retired`, by environment."""
    place = retired.cluster, retired.namespace
    return {
        item.name: item.values.get("run", "")
        for item in environments
        if item.enabled and (item.cluster, item.namespace) == place
    }


def check_place(run: DeclaredRun, command: str) -> None:
    """Raise TfgenError if the objects of a retired environment now belong to an enabled environment.

    Two environments with the same cluster, namespace and run name have objects of the same names. For example, a team
    retires `dev` and uses the namespace for `prod`. Then `tfgen delete --env dev` would delete the objects of `prod`.

    Args:
        run: the run that the command changes.
        command: the name of the command, for the message.
    """
    names = [name for name, run_name in run.live_runs.items() if run_name == run.run]
    if names:
        raise TfgenError(
            f"{run.title}: the job is retired in the environment, and the objects in the namespace belong to the "
            f"environment {either(names, 'and')}; for these objects: tfgen {command} JOB --env {names[0]}; for a "
            "different cluster or namespace, add --context or --namespace"
        )
