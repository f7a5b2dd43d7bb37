"""Read and write the inventory: a ConfigMap that lists the objects of the last `tfgen apply` for an environment.

A command must not delete an object that another environment of the job uses, so the module also finds these objects.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from tfgen.commands.cluster.declared_runs import declared_runs
from tfgen.commands.cluster.target import (
    MANAGER,
    Neighbor,
    Target,
    apply_object,
    delete_object,
    find_object,
    name_of,
)
from tfgen.errors import TfgenError
from tfgen.job.facts import environments_of
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, identity
from tfgen.live.api import Api, find
from tfgen.live.run import Identity
from tfgen.record import EMPTY
from tfgen.text.document import Document

_KEY: Final = "objects"


def read_inventory(api: Api, namespace: str, job: str, environment: str | None) -> Mapping[Identity, str]:
    """Return the objects of the last `tfgen apply` for an environment with their UIDs; empty without an inventory.

    Raises:
        ApiError: the user may not read the ConfigMap.
        TfgenError: the server does not answer in time, or the ConfigMap is not an inventory.
    """
    live = _find(api, namespace, job, environment)
    if live is None:
        return EMPTY
    try:
        # An older tfgen listed the API version, the kind and the name, without the UID.
        rows = [[*map(str, row), ""] for row in json.loads(live["data"][_KEY])]
        return {(version, kind, name): uid for version, kind, name, uid, *_ in rows}
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise TfgenError(
            f"{name_of(_identity(job, environment))} in {namespace} is not an inventory of tfgen; restore its key "
            f"{_KEY}, or delete the ConfigMap"
        ) from error


def write_inventory(target: Target, uids: Mapping[Identity, str]) -> None:
    """Write the objects of the job with their UIDs to the inventory.

    Raises:
        RefusedError: the job did not create the ConfigMap.
        ApiError: the user may not write the ConfigMap.
        TfgenError: the server does not answer in time.
    """
    version, kind, name = _identity(target.job, target.environment)
    item = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "labels": {keys.NAME: target.job, keys.MANAGED_BY: MANAGER}},
        "data": {_KEY: json.dumps([[*item, uid] for item, uid in uids.items()])},
    }
    live = _find(target.api, target.namespace, target.job, target.environment)
    apply_object(target, item, live, is_dry_run=False)


def delete_inventory(target: Target) -> None:
    """Delete the inventory.

    Raises:
        ApiError: the user may not delete the ConfigMap.
        TfgenError: the server does not answer in time.
    """
    live = _find(target.api, target.namespace, target.job, target.environment)
    if live is not None:
        delete_object(target, live)


def neighbors_of(document: Document, environment: str | None) -> tuple[Neighbor, ...]:
    """Return all environments of a job except for `environment`.

    If `environment` is None, the job without an environment is left out.
    """
    names = [None, *environments_of(document)]
    return tuple(
        Neighbor(name, item.run.deciding_object, tuple(map(identity, item.objects)))
        for name in names
        if name != environment
        for item in declared_runs([document], name)
    )


def objects_of_neighbors(target: Target, candidates: Collection[Identity]) -> dict[Identity, str]:
    """Return the objects that another environment of the job applied to the namespace.

    The result has the title of the environment for each object. tfgen recognizes the objects of an environment by the
    inventory of the environment. `kubectl apply` writes no inventory, so tfgen also recognizes an environment by the
    object that ends the run, such as the finisher.

    Args:
        target: the cluster and namespace.
        candidates: the objects that the command may delete. Two environments may have a finisher of the same name. So a
            finisher among the candidates does not count as the finisher of another environment.

    Raises:
        ApiError: the user may not read the objects.
        TfgenError: the server does not answer in time.
    """
    titles: dict[Identity, str] = {}
    for neighbor in target.neighbors:
        applied: Iterable[Identity] = read_inventory(target.api, target.namespace, target.job, neighbor.environment)
        if (
            neighbor.deciding_object
            and neighbor.deciding_object not in candidates
            and find_object(target, neighbor.deciding_object)
        ):
            applied = (*applied, *neighbor.objects)
        for item in applied:
            titles.setdefault(item, neighbor.title)
    return titles


def _find(api: Api, namespace: str, job: str, environment: str | None) -> Object | None:
    version, kind, name = _identity(job, environment)
    resource = api.resource(version, kind)
    return find(api, resource.at(namespace, name)) if resource else None


def _identity(job: str, environment: str | None) -> Identity:
    # The names of jobs and environments have no dot, so two environments never share a ConfigMap.
    return "v1", "ConfigMap", ".".join(filter(None, (job, environment, "tfgen")))
