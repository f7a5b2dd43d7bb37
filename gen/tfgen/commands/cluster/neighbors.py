"""The environments of a job that share a namespace, and the objects that one of them must leave to another."""

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
    """Return the environments of a job beside one of them; the job without an environment is one, too."""
    names = [None, *environments_of(document)]
    return tuple(
        _neighbor(name, item) for name in names if name != environment for item in declared_runs([document], name)
    )


def objects_of_neighbors(target: Target, candidates: Collection[Identity]) -> dict[Identity, str]:
    """Return the objects of other environments in the namespace, each with the title of the environment.

    An environment is there if its inventory is there, or the object that ends its run. The inventory is missing after
    `kubectl apply`, and an object that ends the runs of both environments says nothing.

    Raises:
        ApiError: the account may not read the objects.
        TfgenError: the server does not answer in time.
    """
    titles: dict[Identity, str] = {}
    for neighbor in target.neighbors:
        there: Iterable[Identity] = read_inventory(target, neighbor.environment)
        if neighbor.end and neighbor.end not in candidates and find_object(target, neighbor.end):
            there = (*there, *neighbor.objects)
        for item in there:
            titles.setdefault(item, neighbor.title)
    return titles


def _neighbor(name: str | None, item: RunObjects) -> Neighbor:
    return Neighbor(name, item.run.end, tuple(map(identity, item.objects)))
