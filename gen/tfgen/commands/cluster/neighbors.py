"""Find the objects that a command must not delete, because another environment of the job uses the objects."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tfgen.commands.cluster.declared_runs import declared_runs
from tfgen.commands.cluster.inventory import read_inventory
from tfgen.commands.cluster.target import Neighbor, Target, find_object
from tfgen.job.facts import environments_of
from tfgen.kubernetes.object import identity
from tfgen.live.run import Identity
from tfgen.text.document import Document


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
