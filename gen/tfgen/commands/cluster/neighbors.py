"""Find the objects that a command must not delete, because another environment of the job uses the objects."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tfgen.commands.cluster.declared_runs import declared_runs
from tfgen.commands.cluster.inventory import read_inventory
from tfgen.commands.cluster.target import Neighbor, Target, find_object
from tfgen.job.facts import environments_of
from tfgen.kubernetes.object import identity
from tfgen.live.declared_run import Identity
from tfgen.text.document import Document


def neighbors_of(document: Document, environment: str | None) -> tuple[Neighbor, ...]:
    """Return all environments of a job except for `environment`. None is the job without an environment."""
    names = [None, *environments_of(document)]
    return tuple(
        Neighbor(name, item.run.end, tuple(map(identity, item.objects)))
        for name in names
        if name != environment
        for item in declared_runs([document], name)
    )


def objects_of_neighbors(target: Target, candidates: Collection[Identity]) -> dict[Identity, str]:
    """Return object -> title of another environment, for each object that the other environment has in the namespace.

    An environment has objects in the namespace if the inventory of the environment exists. `kubectl apply` writes no
    inventory. So an environment also has objects there if the object that ends its run, such as the finisher, exists
    and is not in `candidates`.

    Raises:
        ApiError: the user may not read the objects.
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
