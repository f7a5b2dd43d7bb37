"""The environments of a job that share a namespace, and the objects that belong to a different environment."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tfgen.commands.cluster.declared_runs import RunObjects, declared_runs
from tfgen.commands.cluster.inventory import read_inventory
from tfgen.commands.cluster.target import Neighbor, Target, find_object
from tfgen.job.facts import environments_of
from tfgen.kubernetes.object import identity
from tfgen.live.declared_run import Identity
from tfgen.text.document import Document


def neighbors_of(document: Document, environment: str | None) -> tuple[Neighbor, ...]:
    """Return all environments of a job except one. The job without an environment counts as an environment."""
    names = [None, *environments_of(document)]
    return tuple(
        _neighbor(name, item) for name in names if name != environment for item in declared_runs([document], name)
    )


def objects_of_neighbors(target: Target, candidates: Collection[Identity]) -> dict[Identity, str]:
    """Return the objects of other environments in the namespace, each with the title of the environment.

    An environment is applied if its inventory exists, or the object that ends its run. The inventory is missing after
    `kubectl apply`, and an object that ends the runs of two environments belongs to either of them.

    Raises:
        ApiError: the account may not read the objects.
        TfgenError: the server does not answer in time.
    """
    titles: dict[Identity, str] = {}
    for neighbor in target.neighbors:
        applied: Iterable[Identity] = read_inventory(target, neighbor.environment)
        if neighbor.end and neighbor.end not in candidates and find_object(target, neighbor.end):
            applied = (*applied, *neighbor.objects)
        for item in applied:
            titles.setdefault(item, neighbor.title)
    return titles


def _neighbor(name: str | None, item: RunObjects) -> Neighbor:
    return Neighbor(name, item.run.end, tuple(map(identity, item.objects)))
